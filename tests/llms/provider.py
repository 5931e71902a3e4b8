"""A question to a chat model; a provider on a loopback port that speaks OpenAI's chat protocol."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from langchain_openai import ChatOpenAI

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from tests.analysts.test_prompts import UNDERSTANDING

ANSWER = {"keywords": ["cache"], "tags": ["design"], "context": "About a cache."}
TEXT = '{"keywords": ["cache"], "tags": ["design"], "context": "About a cache."}'

Ask = Callable[..., ChatReply]


def request(*messages: Message) -> ChatRequest:
    asked = list(messages) or [Message("system", "Judge."), Message("user", "A note.")]
    return ChatRequest("construct", asked, UNDERSTANDING)


@dataclass
class Answer:
    status: int = 200
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


def said(content: str | None, *, finish: str = "stop", **message: Any) -> Answer:
    """A successful completion."""
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": content, **message},
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return Answer(
        body={
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "local",
            "choices": [choice],
            "usage": usage,
        }
    )


def called(arguments: str, name: str = "understanding") -> Answer:
    """A completion that calls a tool."""
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return said(None, finish="tool_calls", tool_calls=[call])


def failed(status: int, code: str | None = None, **headers: str) -> Answer:
    """An error; its text quotes a key, as careless providers do."""
    error = {"message": "Bad key sk-SECRET for SOME CONTENT", "type": "x", "code": code}
    return Answer(status, {"error": error}, headers)


class Provider:
    """Gives its answers in order, the last one again and again; keeps the request bodies."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.url = ""

    def model(self, **settings: Any) -> ChatOpenAI:
        options = {"timeout": 5, "max_retries": 0, "model": "local", **settings}
        return ChatOpenAI(base_url=self.url, api_key="sk-SECRET", **options)

    @contextmanager
    def listening(self) -> Iterator["Provider"]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                provider.requests.append(json.loads(self.rfile.read(length)))
                answers = provider.answers
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                time.sleep(answer.delay)
                body = json.dumps(answer.body).encode()
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name.replace("_", "-"), value)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # The client gave up waiting.

            def log_message(self, format: str, *args: Any) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}/v1"
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()
