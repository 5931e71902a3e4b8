"""The default embedder, as the story needs one that knows what words mean."""

import pytest

from amem_integrations.core.engine import Vector
from amem_integrations.embedders.dense import NamedEmbedder, resolve_embedder
from amem_integrations.embedders.embedder import embedder_of


@pytest.fixture(scope="session")
def embedder() -> NamedEmbedder:
    """The default embedder, which embeds each text once for all memories."""
    model, vectors = resolve_embedder(), dict[str, Vector]()

    def embedded(texts: list[str]) -> list[Vector]:
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            vectors.update(zip(missing, model.embed_documents(missing), strict=True))
        return [vectors[text] for text in texts]

    embed = embedder_of(embedded, lambda text: embedded([text])[0])
    return NamedEmbedder(embed, name=model.name, dimension=model.dimension)
