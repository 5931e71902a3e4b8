"""ReadAgent: where pages end, what is remembered of them, and which are read again."""

from typing import Any

from amem_integrations.core.analysis import ChatRequest
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems.readagent import ReadAgent
from tests.evaluation.qa.systems.support import EARLY, Scripted, answered, is_within, means


def gist(request: ChatRequest) -> dict[str, Any]:
    heard = request.messages[1].content
    return {"gist": "of honey" if "honey" in heard else "of boats"}


def model(pages: list[Any], after: float = 2) -> Scripted:
    return Scripted(
        readagent_page={"after": after}, readagent_gist=gist, readagent_lookup={"pages": pages}
    )


def agent(scripted: Scripted) -> ReadAgent:
    return ReadAgent(means(scripted), least=20, most=35)


def test_the_model_says_where_a_page_ends() -> None:
    scripted = model([])
    evidence = answered(agent(scripted))
    assert scripted.steps().count("readagent-page") == 2
    assert evidence.text.splitlines() == [
        "Page 1: [2023-05-07] of boats",
        "Page 2: [2023-05-08] of boats",
        "Page 3: [2023-06-15] of honey",
    ]
    assert evidence.turns == ()


def test_a_pause_out_of_range_is_put_into_it() -> None:
    far = model([], after=99)
    answered(agent(far))
    assert far.steps().count("readagent-gist") == 2


def test_the_pages_that_are_asked_for_stand_in_full_in_their_places() -> None:
    evidence = answered(agent(model([2, 7, "x", 2])))
    assert evidence.turns == ("d3", "d4")
    assert evidence.text.splitlines() == [
        "Page 1: [2023-05-07] of boats",
        "Page 2, in full:",
        "[2023-05-08]",
        "Nora: The harbour master wants the mooring fee by Friday.",
        "Ilya: I paid the mooring fee this morning, two hundred crowns.",
        "Page 3: [2023-06-15] of honey",
    ]


def test_pages_still_to_come_are_unknown() -> None:
    evidence = answered(agent(model([3])), question=EARLY)
    assert "honey" not in evidence.text
    assert evidence.turns == ()


def test_what_has_no_room_stays_a_gist() -> None:
    evidence = answered(agent(model([2])), Budget(10, 75))
    assert is_within(evidence, 75)
    assert evidence.turns == ()
    assert "Page 2: " in evidence.text


def test_under_a_narrow_budget_the_oldest_gists_go_first() -> None:
    evidence = answered(agent(model([])), Budget(10, 25))
    assert is_within(evidence, 25)
    assert evidence.text == "Page 3: [2023-06-15] of honey"
