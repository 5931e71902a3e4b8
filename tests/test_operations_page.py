"""The page on operations names figures, events, loggers and log lines that there are."""

import re
from functools import cache

from amem_integrations.core.note import Status
from tests.pages import PACKAGE, page, rows, sections, source_texts

WATCHING = sections(page("operations.md"))["Monitoring"]
EVENTS, FIGURES, LINES = (
    found for part in re.split(r"\n\n(?!\|)", WATCHING) if (found := rows(part))
)


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def known_figures() -> set[str]:
    text = (PACKAGE / "lifecycle" / "figures.py").read_text("utf-8")
    return set(re.findall(r'\bFigure\(\s*"(\w+)"', text))


@cache
def counted() -> list[re.Pattern[str]]:
    """What the package counts; where a name is made of parts, any word will do for those."""
    source = "\n".join(source_texts().values())
    found = re.findall(r'(?:count(?:_event)?\(\s*|FAILED = )f?"(\w[\w.{}\']+?)"', source)
    return [re.compile(re.sub(r"\\{.*?\\}", r"[\\w.-]+", re.escape(name))) for name in found]


def test_every_figure_of_a_health_report_with_a_limit_is_on_the_page() -> None:
    listed = {name for row in FIGURES for name in names(row[0])}
    assert listed <= known_figures()
    assert known_figures() - listed == {
        *("notes", "formed", "plain", "archived"),
        *("mid", "long", "raw"),
    }


def test_events_to_watch_are_counted_somewhere() -> None:
    watched = {name for row in EVENTS for name in names(row[0])} - set(map(str, Status))
    assert len(watched) > 10
    assert [name for name in watched if not any(each.fullmatch(name) for each in counted())] == []


def test_a_model_s_failures_to_watch_are_reasons_that_there_are() -> None:
    failures = (PACKAGE / "models" / "chat_failures.py").read_text("utf-8")
    reasons = set(re.findall(r'= Failure\("([\w-]+)"', failures))
    watched = set(re.findall(r"`model\.([\w-]+)`", WATCHING))
    assert watched
    assert watched <= reasons


def test_log_lines_to_alert_on_are_warnings_of_that_logger() -> None:
    for logger, beginning, _ in LINES:
        module = PACKAGE.parent.joinpath(*names(logger)[0].split(".")).with_suffix(".py")
        text = module.read_text("utf-8")
        assert "_LOG = logging.getLogger(__name__)" in text
        assert re.search(rf'_LOG\.warning\(\s*"{re.escape(beginning)}', text), beginning
