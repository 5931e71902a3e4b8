"""The page on troubleshooting has every class of error, and no message that is not in the code."""

import inspect
import re
from functools import cache

from amem_integrations import errors
from tests.pages import messages, page, rows, sections, source_texts

TEXT = page("troubleshooting.md")


@cache
def known() -> str:
    return "\n\0".join(each for text in source_texts().values() for each in messages(text))


def quoted() -> list[str]:
    """The messages of all tables that have them."""
    return [
        message
        for section in sections(TEXT).values()
        for table in section.split("\n\n")
        if table.lstrip().startswith("| message |")
        for row in rows(table)
        for message in re.findall(r"`([^`]+)`", row[0])
    ]


def pattern(message: str) -> str:
    beginning = "" if message.startswith("…") else "\0"
    return beginning + "[^\0]*?".join(map(re.escape, message.removeprefix("…").split("…")))


def test_every_class_of_error_is_on_the_page() -> None:
    classes = {
        name
        for name, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, errors.AMemError)
    }
    listed = [row[0].strip("`") for row in rows(TEXT.partition("\n## ")[0])]
    assert sorted(listed) == sorted(classes)


def test_every_message_on_the_page_is_in_the_code() -> None:
    assert len(quoted()) > 100
    assert [each for each in quoted() if not re.search(pattern(each), "\0" + known())] == []


def test_reasons_why_a_model_failed_are_in_the_code() -> None:
    section = sections(TEXT)["The model does not judge"].split("| message |")[0]
    reasons = {reason for row in rows(section) for reason in re.findall(r"`([^`]+)`", row[0])}
    assert "timeout" in reasons
    assert [each for each in reasons if f"\0{each}\n" not in known()] == []
