"""Links without a model."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations.analysts.links import MAX_LINKS, propose_links, quoted
from amem_integrations.analysts.terms import Corpus
from amem_integrations.core.analysis import Candidate, LinkProposal, Subject
from amem_integrations.core.note import Note, make_note

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
FILLER = (
    "Breakfast was croissants",
    "Trains to Hamburg run hourly",
    "Paint dries slowly indoors",
    "Violins need new strings",
)


def note(content: str, at: int = 0, **fields: object) -> Note:
    return make_note(
        content,
        namespace="team",
        now=START + timedelta(minutes=at),
        key=f"{at}:{content[:40]}",
        **fields,  # pyright: ignore[reportArgumentType]
    )


def candidates(*given: tuple[Note, float, int | None]) -> tuple[Candidate, ...]:
    """Ranked by similarity; the third part is the reverse rank."""
    ranked = sorted(given, key=lambda each: -each[1])
    return tuple(
        Candidate(candidate, similarity, rank, reverse)
        for rank, (candidate, similarity, reverse) in enumerate(ranked)
    )


def fillers(similarity: float, texts: Sequence[str] = FILLER) -> list[tuple[Note, float, None]]:
    return [(note(text, -9), similarity, None) for text in texts]


def links(
    subject: Note, given: Sequence[tuple[Note, float, int | None]], background: Sequence[Note] = ()
) -> list[LinkProposal]:
    texts = [each.content for each in background] or [each[0].content for each in given]
    return propose_links(Subject(subject, candidates(*given), tuple(background)), Corpus(texts))


def test_two_notes_that_share_rare_words_are_linked_for_that_reason() -> None:
    old = note("The Huaxin cells failed in the cold")
    found = links(note("The Ningyuan cell is taller than the Huaxin one", 1), [(old, 0.0, None)])
    assert [(link.to, link.kind) for link in found] == [(old.id, "shared-words")]
    assert found[0].reason == "shares 'Huaxin' and 'cell'"


def test_chinese_notes_that_share_words_are_linked_with_a_chinese_reason() -> None:
    old = note("我们打算用宁远的低温电芯")
    [link] = links(note("宁远的电芯已经在上海仓库", 1), [(old, 0.0, None)])
    assert (link.to, link.reason) == (old.id, "都提到“宁远”和“电芯”")
    # Segmented in another way in the other note.
    old = note("盈和有一款低温的电芯")
    assert links(note("给盈和下单，电芯三周到", 1), [(old, 0.0, None)])[0].to == old.id


@pytest.mark.parametrize(("near", "far"), [(0.62, 0.12), (0.4, 0.05), (0.44, 0.2)])
def test_each_other_s_nearest_notes_are_linked_without_a_shared_word(
    near: float, far: float
) -> None:
    old = note("Somebody unplugs the machine to use the socket")
    found = links(note("What happens after a power cut", 1), [(old, near, 0), *fillers(far)])
    assert [link.to for link in found] == [old.id]
    assert found[0].reason == "each among the other's nearest notes"


@pytest.mark.parametrize(
    ("text", "similarity", "reverse_rank", "rivals"),
    [
        ("Somebody unplugs the machine to use the socket", 0.6, None, 4),  # not mutual
        ("ok, thanks!", 0.6, 0, 4),  # a mere acknowledgement
        ("Somebody unplugs the machine to use the socket", 0.9, 0, 2),  # among very few notes
    ],
)
def test_nearness_alone_links_nothing_where_it_means_little(
    text: str, similarity: float, reverse_rank: int | None, rivals: int
) -> None:
    near = (note(text), similarity, reverse_rank)
    assert not links(note("What happens after a power cut", 1), [near, *fillers(0.1)[:rivals]])


def test_nearness_is_judged_among_texts_of_the_same_script() -> None:
    chinese = fillers(0.45, ["早饭吃了包子", "火车每小时一班", "油漆干得很慢"])
    old = note("模具厂需要五天时间")
    subject = note("素菜馆座位已经预订", 1)
    assert not links(subject, [(old, 0.5, 0), *chinese, *fillers(0.0)])


def test_a_word_that_everybody_uses_links_nothing() -> None:
    background = [note(f"the sensor near {place}", n) for n, place in enumerate("abcdefghij" * 4)]
    old = note("the sensor is grey", 50)
    assert not links(note("one sensor arrived", 60), [(old, 0.0, None)], background)


def test_a_speaker_s_own_name_links_nothing() -> None:
    old = note("Marta wrote this down")
    assert not links(note("Marta: bananas are yellow", 1, speaker="Marta"), [(old, 0.0, None)])


def test_stronger_links_come_first_and_there_are_few() -> None:
    olds = [note(f"Huaxin cells, batch number{n}", n) for n in range(9)]
    best = note("Huaxin cells, climate chamber", 10)
    given: list[tuple[Note, float, int | None]] = [(old, 0.3, None) for old in olds]
    elsewhere = [note(text) for text in FILLER]
    subject = note("Huaxin cells in the climate chamber", 20)
    found = links(subject, [*given, (best, 0.1, None)], elsewhere)
    assert len(found) == MAX_LINKS
    assert found[0].to == best.id
    weights = [link.weight for link in found]
    assert weights == sorted(weights, reverse=True)
    assert all(0 < weight <= 1 for weight in weights)


def test_the_turn_just_before_is_linked_and_a_question_more_strongly() -> None:
    asked = note("Do you eat meat?", 1, session="s", sequence=1, speaker="Wei")
    told = note("The van has no heating", 1, session="s", sequence=1, speaker="Wei")
    subject = note("Only vegetables", 2, session="s", sequence=2)
    [answer], [turn] = links(subject, [], [asked]), links(subject, [], [told])
    assert (turn.to, turn.kind, answer.kind) == (told.id, "sequence", "sequence")
    assert turn.weight < 0.5 < answer.weight
    assert turn.reason == "comes right after Wei's turn"
    assert answer.reason == "comes right after Wei's question"


@pytest.mark.parametrize("words", ["好的", "Thanks!", "👍"])
def test_small_talk_is_part_of_no_sequence(words: str) -> None:
    talk = note(words, 2, session="s", sequence=2)
    said = note("The van has no heating", 1, session="s", sequence=1)
    assert not links(note("Leipzig gets rain", 3, session="s", sequence=3), [], [talk, said])
    assert not links(talk, [], [said])


@pytest.mark.parametrize(
    ("session", "sequence"), [("s", 1), ("s", 4), ("s", 3), ("other", 2), (None, 2)]
)
def test_a_turn_that_is_not_adjacent_gets_no_sequence_link(
    session: str | None, sequence: int
) -> None:
    before = note("The van has no heating", 1, session=session, sequence=sequence)
    assert not links(note("Leipzig gets rain", 2, session="s", sequence=3), [], [before])


def test_without_a_sequence_the_last_turn_of_the_session_comes_just_before() -> None:
    first = note("The van has no heating", 1, session="s")
    second = note("Outdoor beds freeze", 2, session="s")
    elsewhere = note("Violins need strings", 3, session="t")
    later = note("Trains run hourly", 9, session="s")
    [link] = links(note("Leipzig gets rain", 4, session="s"), [], [later, elsewhere, second, first])
    assert link.to == second.id


def test_names_are_quoted_as_the_language_has_it() -> None:
    assert quoted([], chinese=False) == ""
    assert quoted(["a"], chinese=False) == "'a'"
    assert quoted(["a", "b", "c"], chinese=False) == "'a', 'b' and 'c'"
    assert quoted(["甲", "乙", "丙"], chinese=True) == "“甲”、“乙”和“丙”"
