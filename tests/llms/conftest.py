"""Both forms of a question to a chat model."""

import asyncio

import pytest

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import ChatModel
from tests.llms.provider import Ask


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Ask a model in its sync or in its async form."""

    def asked(model: ChatModel, question: ChatRequest) -> ChatReply:
        if request.param == "sync":
            return model.complete(question)
        return asyncio.run(model.acomplete(question))

    return asked
