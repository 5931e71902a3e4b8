"""What each page shows, and where it leads."""

import re
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory, Hit, Note
from amem_integrations.errors import ModelUnavailableError
from amem_integrations.recall.signals import SHARES, SIGNALS
from amem_integrations.view import pages
from amem_integrations.view.addresses import note_page, page
from amem_integrations.view.html import shares_of
from tests.support import again, open_memory
from tests.view.conftest import CONTENTS, HOME
from tests.view.support import Browser, Page

DOCUMENTED = Path(__file__).parents[2] / "cookbook" / "docs" / "view.md"

# -- namespaces -------------------------------------------------------------------------------


def test_the_first_page_lists_every_namespace_with_its_notes(looking: Browser) -> None:
    shown = looking.get("/")
    rows = [row.text.split(" graph")[0] for row in shown.all("tr")[1:]]
    assert rows == ["cache / of Calvin 3", "one 1"]
    assert "2 namespaces, 4 notes." in shown.text
    assert looking.get(shown.link("one")).one("h1").text == "Notes"
    narrowed = looking.get(page("/", containing="CALVIN"))
    assert [row.text for row in narrowed.all("th", scope="row")] == ["cache / of Calvin"]


def test_namespaces_are_paged(looking: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "NAMESPACES", 1)
    first = looking.get("/")
    second = looking.get(first.link("After →"))
    assert [row.text for row in second.all("th", scope="row")] == ["one"]
    assert looking.get(second.link("← Before")).text == first.text
    assert "There is no page 9." in looking.get(page("/", page=9)).text


def test_a_memory_without_notes_says_how_to_add_one() -> None:
    with open_memory() as empty:
        assert "amem add" in Browser(empty).get("/").text


# -- notes of a namespace ---------------------------------------------------------------------


def test_a_namespace_shows_its_notes_the_newest_first(looking: Browser) -> None:
    shown = looking.get(page("/namespace", HOME))
    assert [each.text for each in shown.all("p", class_="text")] == list(reversed(CONTENTS))
    assert "Susie, in lunch, " in shown.text


def test_pages_of_notes_hold_each_note_once_and_lead_back(
    looking: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "NOTES", 1)
    shown = looking.get(page("/namespace", HOME))
    first, seen = shown.text, []
    while True:
        seen.append(shown.one("p", class_="text").text)
        if not shown.all("a", rel="next"):
            break
        shown = looking.get(shown.link("Older →"))
    assert seen == list(reversed(CONTENTS))
    before = looking.get(shown.link("← Newer"))
    assert before.one("p", class_="text").text == CONTENTS[1]
    assert looking.get(before.link("Newest")).text == first


def test_notes_can_be_narrowed_down_by_status(looking: Browser, memory: AgenticMemory) -> None:
    memory.add("Waits", namespace="waiting", formation="off")
    memory.add("Is formed", namespace="waiting")
    shown = looking.get(looking.get(page("/namespace", ("waiting",))).link("1 raw"))
    assert [each.text for each in shown.all("p", class_="text")] == ["Waits"]
    memory.admin.forget_namespace("waiting")


# -- search -----------------------------------------------------------------------------------


def test_a_search_shows_each_hit_with_the_share_of_each_signal(
    looking: Browser, memory: AgenticMemory
) -> None:
    shown = looking.get(page("/search", HOME, q="the cache of Calvin"))
    hits = memory.search("the cache of Calvin", namespace=HOME)
    assert [each.text for each in shown.all("h2", class_="text")] == [h.note.content for h in hits]
    tables = [table.text for table in shown.all("table", class_="why")]
    assert len(tables) == len(hits) > 1
    for table, hit in zip(tables, hits, strict=True):
        assert f"score {hit.score:.2f}" in table
        for value in hit.why.values():
            assert abs(value) < 0.005 or f"{value:+.2f}".replace("-", "−") in table


def test_bars_are_as_long_as_what_they_stand_for(looking: Browser, memory: AgenticMemory) -> None:
    shown = looking.get(page("/search", HOME, q="cache"))
    whys = [hit.why for hit in memory.search("cache", namespace=HOME)]
    largest = max(value for why in whys for value in why.values())
    widths = [float(each.attributes["width"] or 0) for each in shown.all("rect", class_="share")]
    wanted = [
        100 * value / largest
        for why in whys
        for value in sorted(why.values(), reverse=True)
        if value >= 0.005
    ]
    assert widths == pytest.approx(wanted, abs=0.01)


def test_a_hit_that_a_link_led_to_says_which(looking: Browser, memory: AgenticMemory) -> None:
    found = memory.search("Hobbes prefers tuna", namespace=HOME)
    led = [hit for hit in found if hit.via is not None]
    shown = looking.get(page("/search", HOME, q="Hobbes prefers tuna"))
    ways = [each.text for each in shown.all("p", class_="via")]
    assert len(ways) == len(led) > 0
    for way, hit in zip(ways, led, strict=True):
        assert hit.via is not None
        assert way.startswith("By its link with ")
        assert hit.via.reason in way


def test_a_search_heeds_its_options(looking: Browser) -> None:
    shown = looking.get(page("/search", HOME, q="cache", k=1))
    assert len(shown.all("h2", class_="text")) == 1
    more = looking.get(shown.link("Up to 2 notes"))
    assert len(more.all("h2", class_="text")) == 2
    asked = {"q": "cache", "filter": '{"speaker": "Moe"}'}
    shown = looking.get(page("/search", HOME, **asked))
    assert "Nothing was found among 3 notes; the filter may be too strict." in shown.text
    assert shown.one("input", id="filter").attributes["value"] == asked["filter"]
    for nothing in ("", "  "):
        assert "what to look for" in looking.get(page("/search", HOME) + f"&q={nothing}").text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"k": "many"}, "k is a whole number from 1 to 100; got 'many'."),
        ({"k": "0"}, "k is a whole number"),
        ({"hops": "-1"}, "hops is a whole number"),
        ({"filter": "{speaker"}, "filter is not JSON"),
        ({"filter": "[" * 20_000}, "filter is not JSON"),
        ({"filter": "[]"}, "filter is a JSON object"),
        ({"filter": '{"speaker": {"$nope": 1}}'}, "$nope"),
        ({"filter": '{"\\ud800": 1}'}, "Unknown field '\\ud800'"),
    ],
)
def test_a_search_that_makes_no_sense_says_why_and_keeps_what_was_typed(
    looking: Browser, asked: dict[str, str], said: str
) -> None:
    shown = looking.get(page("/search", HOME, q="cache", **asked), 400)
    assert said in shown.one("p", class_="problem").text
    assert shown.one("input", id="q").attributes["value"] == "cache"
    for name, value in asked.items():
        assert shown.one("input", id=name).attributes["value"] == value


def test_a_search_without_its_embedder_says_so(
    looking: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: AgenticMemory, query: str, **asked: object) -> None:
        raise ModelUnavailableError("The embedder is down.")

    monkeypatch.setattr(AgenticMemory, "search", fail)
    shown = looking.get(page("/search", HOME, q="cache"), 503)
    assert shown.one("p", class_="problem").text == "The embedder is down."
    assert shown.one("input", id="q").attributes["value"] == "cache"


def hit(note: Note, **why: float) -> Hit:
    return Hit(note, sum(why.values()), why)


def test_bars_share_one_scale_and_losses_are_on_the_other_side(note: Note) -> None:
    first, second = shares_of([hit(note, meaning=2.0), hit(note, meaning=0.5, words=1.0)])
    assert [(each.signal, each.start, each.width) for each in first] == [("meaning", 0, 100)]
    assert [(each.signal, each.width) for each in second] == [("words", 50), ("meaning", 25)]
    ((gain, loss),) = shares_of([hit(note, meaning=3.0, outdated=-1.0)])
    assert (gain.start, gain.width) == (25, 75)
    assert (loss.signal, loss.start, loss.width) == ("outdated", 0, 25)
    # What cannot be seen has no bar.
    assert shares_of([hit(note), hit(note, answer=0.0)]) == [[], []]
    assert len(shares_of([hit(note, meaning=1.0, answer=0.001)])[0]) == 1


def test_the_documentation_names_every_signal() -> None:
    named = re.findall(r"^\| `(\w+)` \| ", DOCUMENTED.read_text("utf-8"), re.M)
    assert set(named) >= {*SIGNALS, *SHARES}


# -- a note -----------------------------------------------------------------------------------


def test_a_note_shows_its_text_analysis_and_links_in_both_directions(
    looking: Browser, memory: AgenticMemory, note: Note
) -> None:
    shown = looking.get(note_page(note, HOME))
    assert shown.one("div", class_="whole").text == note.content
    assert note.context in shown.text
    chips = [each.text for each in shown.all("li", class_="chip")]
    assert chips == [*note.keywords, *note.tags, *note.questions]
    assert note.questions
    for link in again(memory, note).incoming:
        other = memory.get(link.source, namespace=HOME)
        assert other is not None
        assert link.reason in shown.text
        address = next(
            str(each.attributes["href"])
            for each in shown.all("a")
            if each.text == other.content and "/note/" in str(each.attributes["href"])
        )
        back = looking.get(address)
        assert back.one("div", class_="whole").text == other.content
        assert note_page(note, HOME) in {each.attributes.get("href") for each in back.all("a")}


def test_a_note_shows_every_version_with_its_cause_and_changes(
    looking: Browser, memory: AgenticMemory, note: Note
) -> None:
    shown = looking.get(note_page(note, HOME))
    steps = [each.text for each in shown.all("li") if "value" in each.attributes]
    revisions = memory.history(note)
    assert len(steps) == 1 + len(revisions) > 2
    assert steps[0].startswith("created")
    for step, revision in zip(steps[1:], revisions, strict=True):
        assert step.startswith(revision.kind)
        assert revision.reason in step
    caused = [step for step in steps if "because of" in step]
    assert len(caused) == sum(each.kind == "evolved" for each in revisions)
    assert f"because of {CONTENTS[1]}" in caused[0]
    assert "seen-cache" in " ".join(each.text for each in shown.all("ins"))


def test_of_much_a_note_shows_the_beginning_and_where_all_of_it_is(
    looking: Browser, memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "VERSIONS", 1)
    monkeypatch.setattr(pages, "LINKS", 1)
    long = "word " * 50_000 + "end"
    note = memory.add(long, namespace="long", formation="off")
    shown = looking.get(note_page(note, note.namespace))
    assert len(shown.one("div", class_="whole").text) < 4001
    whole = looking.get(shown.link("Show all 250,003 characters"))
    assert whole.one("div", class_="whole").text == long
    assert not [each for each in whole.all("a") if each.text.startswith("Show all")]
    memory.forget(note)
    for other in memory.recent(namespace=HOME):
        cut = looking.get(note_page(other, HOME))
        links = [each for each in cut.all("a") if each.text.startswith("Show all")]
        assert len(links) == 1 + sum(len(each) > 1 for each in (other.outgoing, other.incoming))
        whole = looking.get(str(links[0].attributes["href"]))
        steps = [each for each in whole.all("li") if "value" in each.attributes]
        assert len(steps) == other.version


@pytest.mark.parametrize("id", ["nobody", "00000000-0000-4000-8000-000000000000", "%2e%2e", "%00"])
def test_a_note_that_is_not_there_is_not_found(looking: Browser, note: Note, id: str) -> None:
    looking.get(note_page(note, ("one",)), 404)
    shown = looking.get(f"/note/{id}?" + page("", HOME).removeprefix("?"), 404)
    assert "There is no note" in shown.text


def test_a_merged_note_leads_to_what_it_went_into(looking: Browser, memory: AgenticMemory) -> None:
    items = [{"content": "The tent is red and new", "key": str(number)} for number in range(2)]
    notes = memory.add_many(items, namespace="tents")
    memory.lifecycle.consolidate("tents", dry_run=False)
    left = again(memory, notes[0])
    assert again(memory, notes[1]).id == left.id
    [gone] = [note for note in notes if note.id != left.id]
    answer = looking.client.get(note_page(gone, ("tents",)))
    assert answer.status_code == 302
    assert answer.headers["location"] == note_page(left, ("tents",))
    memory.admin.forget_namespace("tents")


# -- the graph, and health --------------------------------------------------------------------


def test_the_graph_is_a_drawing_and_a_table(looking: Browser, memory: AgenticMemory) -> None:
    shown = looking.get(page("/graph", HOME, by="speaker"))
    notes = memory.recent(namespace=HOME)
    drawn = [str(each.attributes["href"]) for each in shown.all("a", tabindex="-1")]
    assert sorted(drawn) == sorted(note_page(note, HOME) for note in notes)
    assert len(shown.all("line")) == sum(len(note.outgoing) for note in notes) > 0
    rows = [row.text for row in shown.all("tr")[1:]]
    assert sorted(rows) == sorted(f"{content} Susie 2" for content in CONTENTS)
    fewer = looking.get(page("/graph", HOME, limit=2))
    assert "The best linked 2 of 3 notes" in fewer.text
    assert len(fewer.all("a", tabindex="-1")) == 2


def test_a_namespace_without_notes_says_so(looking: Browser) -> None:
    for path in ("/namespace", "/graph"):
        shown = looking.get(page(path, ("nobody",))).text
        assert "There are no notes in this namespace" in shown


@pytest.mark.parametrize("asked", [{"by": "colour"}, {"limit": "0"}, {"limit": "all"}])
def test_a_graph_that_cannot_be_drawn_says_why(looking: Browser, asked: dict[str, str]) -> None:
    shown = looking.get(page("/graph", HOME, **asked), 400)
    assert next(iter(asked)) in shown.one("p", class_="problem").text


def test_health_shows_every_figure_and_marks_worries(
    looking: Browser, memory: AgenticMemory
) -> None:
    shown = looking.get(page("/health", HOME))
    names = [each.text.removesuffix(" worry") for each in shown.all("th", scope="row")]
    assert names == [figure.name for figure in memory.admin.health(HOME).figures]
    assert "Nothing to worry about." in shown.text
    note = memory.add("Hopeless", namespace="worrying", formation="off")
    memory.perform(lambda _, io: io.engine.patch(note.id, {"status": "parked"}))
    shown = looking.get(page("/health", ("worrying",)))
    assert "To worry about: parked." in shown.text
    assert [each.text.split()[0] for each in shown.all("tr", class_="worry")] == ["parked"]
    memory.admin.forget_namespace("worrying")


# -- addresses --------------------------------------------------------------------------------

ODD = [
    ("a/b", "..", "?x=1&y=2#z"),
    ('"quoted"', "'single'", "back\\slash"),
    ("line\nbreak\r\n", "tab\t", " outer blanks "),
    ("新建 文件夹", "\u202eright to left", "%2F%00", "+"),
    ("[]", "null"),
]


@pytest.mark.parametrize("labels", ODD)
def test_any_namespace_can_be_reached_searched_and_read(
    looking: Browser, memory: AgenticMemory, labels: tuple[str, ...]
) -> None:
    note = memory.add("The odd one", namespace=labels)
    reached = [
        shown
        for each in looking.get("/").all("a")
        if str(each.attributes["href"]).startswith("/namespace")
        for shown in [looking.get(str(each.attributes["href"]))]
        if "The odd one" in shown.text
    ]
    assert len(reached) == 1
    form = {
        str(each.attributes["name"]): str(each.attributes["value"])
        for each in reached[0].all("input")
    }
    # A form sends line breaks as two characters.
    sent = {name: re.sub("\r?\n", "\r\n", value) for name, value in form.items()}
    found = Page(looking.client.get("/search", params=sent | {"q": "odd"}))
    read = looking.get(found.link("The odd one"))
    assert note.id in read.text
    memory.admin.forget_namespace(labels)


@pytest.mark.parametrize(
    "ns", [None, "", "default", "[]", "{}", "[1]", '[""]', '["\\ud800"]', "[" * 20_000, '["a"']
)
def test_an_address_without_a_namespace_says_what_is_missing(
    looking: Browser, ns: str | None
) -> None:
    for path in ("/namespace", "/search", "/graph", "/health", "/note/x"):
        answer = looking.client.get(path, params={} if ns is None else {"ns": ns})
        assert answer.status_code == 400
        assert "amespace" in Page(answer).one("p", class_="problem").text


@pytest.mark.parametrize("number", ["x", "-1", "0", str(2**63)])
def test_a_number_that_cannot_be_is_refused(looking: Browser, number: str) -> None:
    looking.get(page("/", page=number), 400)
    for name in ("before", "after"):
        allowed = number == "0"
        looking.get(page("/namespace", HOME, **{name: number}), 200 if allowed else 400)
