"""Files: whatever their format, packed or not, and what is said when they are none."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.reading import read_dataset
from tests.evaluation.samples import beam, lines, locomo, written


@pytest.mark.parametrize(
    ("name", "content", "format", "ids"),
    [
        ("a.json", locomo(), "locomo", ["boat", "garden"]),
        ("a.json", locomo()[1], "locomo", ["garden"]),
        ("a.json", beam(), "beam", ["7"]),
        ("a.json", beam()[0], "beam", ["7"]),
        ("a.jsonl", lines(), "json-lines", ["boat", "garden"]),
    ],
)
def test_a_format_is_recognised_by_what_is_in_the_file(
    tmp_path: Path, name: str, content: Any, format: str, ids: list[str]
) -> None:
    dataset = read_dataset(written(tmp_path / name, content))
    assert dataset.format == format
    assert [conversation.id for conversation in dataset.conversations] == ids


def test_packed_or_not_it_is_the_same_dataset(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.json", locomo())
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_dataset(packed) == read_dataset(plain)
    assert read_dataset(plain).digest == hashlib.sha256(plain.read_bytes()).hexdigest()


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = "\r\n".join(json.dumps(line) for line in lines())
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(read_dataset(path).conversations) == 2


def test_a_limit_counts_the_defects_of_what_it_takes(tmp_path: Path) -> None:
    samples = locomo()[::-1]
    path = written(tmp_path / "a.json", samples)
    assert read_dataset(path).defects
    limited = read_dataset(path, limit=1)
    assert [conversation.id for conversation in limited.conversations] == ["garden"]
    assert not limited.defects


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[\n{},\n", r"line 3 is not JSON"),
        (b'{\n "qa": [1,\n ]\n}', r"line 3 is not JSON"),
        (b'{"turn": 1, "text": "a"}\n{"turn": 2', r"line 2 is not JSON"),
        (b'{"turn": 1', r"line 1 is not JSON"),
        (b"not json at all", r"line 1 is not JSON"),
        (b"[]", r"a list of LoCoMo samples"),
        (b'[{"a": 1}]', r"a list of LoCoMo samples"),
        (b"[] []", r"after the list there is more"),
        (b"ab\n\xff\n", r"line 2: this is not UTF-8"),
        (b"", r"no question that can be scored"),
        (b'{"turn": 1, "text": "a"}', r"no question that can be scored"),
        (b"\x1f\x8bnothing", r"cannot be unpacked"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message) as error:
        read_dataset(path)
    assert str(path) in str(error.value)


def test_questions_that_all_lost_their_evidence_say_so(tmp_path: Path) -> None:
    entries = [{"turn": 1, "text": "a"}, {"question": "b?", "evidence": [2]}]
    path = written(tmp_path / "a.jsonl", entries)
    with pytest.raises(InvalidInputError, match=r"evidence ids of no turn, left out: 1"):
        read_dataset(path)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nowhere.json cannot be read"):
        read_dataset(tmp_path / "nowhere.json")


def test_two_conversations_of_one_name_would_share_a_namespace(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", [locomo()[1], locomo()[1]])
    with pytest.raises(InvalidInputError, match=r"two conversations called 'garden'"):
        read_dataset(path)
