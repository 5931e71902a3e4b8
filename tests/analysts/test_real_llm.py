"""Ten notes judged by a small real model behind a loopback server: plumbing, never quality.

Skipped unless its weights and xllamacpp are here; see fetch_local_llm.py. AMEM_LLM_SIZE chooses
the model ("0.5b" or "1.5b"); what it said is shown by `pytest -s`.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from amem_integrations.analysts.llm import LLMAnalyst
from amem_integrations.core.analysis import Candidate, ChatReply, ChatRequest, Subject
from amem_integrations.core.io import SyncIO, run
from amem_integrations.core.note import Note, make_note
from amem_integrations.errors import AnalysisError
from amem_integrations.llms.langchain import LangChainChatModel
from amem_integrations.testing import HashEmbedder
from tests.analysts.fetch_local_llm import model_path

SIZE = os.environ.get("AMEM_LLM_SIZE", "0.5b")
WEIGHTS = model_path(SIZE)

pytestmark = pytest.mark.skipif(
    not WEIGHTS.exists() or importlib.util.find_spec("xllamacpp") is None,
    reason="needs xllamacpp and weights: python tests/models/fetch_local_llm.py 0.5b",
)

SAID = [
    "The product page takes four seconds to load; the catalogue API is the slow part.",
    "Let's put a cache in front of the catalogue service.",
    "The pods have only 512 MB of memory, so the cache must stay small.",
    "Calvin wants an LRU eviction policy for the cache, at most 10,000 entries.",
    "I got the job offer from the Lisbon office!",
    "I'm moving to Lisbon in March.",
    "Oat milk in my coffee, please, I can't drink cow's milk.",
    "我们决定把缓存换成 Redis，因为内存不够。",
    "下周三要给客户演示新的搜索页面。",
    "The search page demo went well; the client wants filters by price.",
]


class Listening(SyncIO):
    """Keeps every reply and prints what it cost."""

    replies: list[ChatReply]

    async def chat(self, request: ChatRequest) -> ChatReply:
        reply = await super().chat(request)
        self.replies.append(reply)
        print(  # noqa: T201
            f"\n{SIZE} {request.step}: {reply.tokens_in} in, {reply.tokens_out} out, "
            f"{reply.seconds:.1f} s\n  {json.dumps(reply.data, ensure_ascii=False)}"
        )
        return reply


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    script = Path(__file__).with_name("serve_local_llm.py")
    server = subprocess.Popen(
        [sys.executable, str(script), str(WEIGHTS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


@pytest.fixture
def io(address: str) -> Listening:
    model = ChatOpenAI(
        base_url=f"{address}/v1",
        api_key="none",
        model=f"qwen2.5-coder-{SIZE}",
        temperature=0,
        frequency_penalty=0.4,  # or it repeats itself until its output limit
        max_tokens=500,
        timeout=300,
        max_retries=0,
    )
    nothing: Any = None
    listening = Listening(nothing, nothing, HashEmbedder(), LangChainChatModel(model))
    object.__setattr__(listening, "replies", [])
    return listening


def said(place: int) -> Note:
    now = datetime(2026, 3, 2, tzinfo=UTC) + timedelta(hours=place)
    return make_note(SAID[place], namespace="n", now=now, speaker="Ana")


def with_older(note: Note, older: list[Note]) -> Subject:
    return Subject(note, tuple(Candidate(each, 0.5, rank) for rank, each in enumerate(older)))


def test_most_notes_are_understood_in_words_of_their_own(io: Listening) -> None:
    anchored = 0
    for place, text in enumerate(SAID):
        understood = run(LLMAnalyst().construct(io, Subject(said(place))))
        assert understood.context
        assert 1 <= len(understood.keywords) <= 5
        assert all(keyword.strip() for keyword in understood.keywords)
        anchored += any(keyword.casefold() in text.casefold() for keyword in understood.keywords)
    print(f"\n{SIZE}: a keyword occurs in {anchored} of {len(SAID)} texts")  # noqa: T201
    assert anchored > len(SAID) / 2


def test_ten_notes_are_judged_and_every_judgement_has_the_right_shape(io: Listening) -> None:
    started = time.perf_counter()
    notes: list[Note] = []
    links = evolutions = 0
    for place in range(len(SAID)):
        subject = with_older(said(place), notes[:-4:-1])
        try:
            judgement = run(LLMAnalyst(attempts=1).fuse(io, subject))
        except AnalysisError as error:
            if error.reason != "unparsable":
                raise
            continue  # So small a model may repeat itself until its output limit.
        offered = {candidate.note.id for candidate in subject.candidates}
        assert {link.to for link in judgement.links} <= offered
        assert {evolution.note_id for evolution in judgement.evolutions} <= offered
        assert all(0.0 < link.weight <= 1.0 for link in judgement.links)
        links += len(judgement.links)
        evolutions += len(judgement.evolutions)
        understood = judgement.understanding
        assert understood.context
        assert understood.keywords
        notes.append(
            subject.note.evolve(
                keywords=understood.keywords, tags=understood.tags, context=understood.context
            )
        )
    print(  # noqa: T201
        f"\n{SIZE}: {len(notes)} of {len(SAID)} notes in {len(io.replies)} calls, "
        f"{sum(reply.tokens_in or 0 for reply in io.replies)} tokens in, "
        f"{sum(reply.tokens_out or 0 for reply in io.replies)} out, "
        f"{time.perf_counter() - started:.0f} s, {links} links, {evolutions} evolutions"
    )
    assert len(notes) >= 8
    assert {reply.notes[0] for reply in io.replies} == {"json_schema"}
    assert all(reply.tokens_in and reply.tokens_out for reply in io.replies)


def test_links_and_evolutions_are_judged_apart_as_well(io: Listening) -> None:
    subject = with_older(said(3), [said(2), said(1), said(0)])
    offered = {candidate.note.id for candidate in subject.candidates}
    links = run(LLMAnalyst().link(io, subject))
    evolutions = run(LLMAnalyst().evolve(io, subject, links))
    assert {link.to for link in links} <= offered
    assert {evolution.note_id for evolution in evolutions} <= offered
