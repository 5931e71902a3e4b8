"""Pages of a memory that a Qdrant server holds."""

from amem_integrations.view.addresses import note_page, page
from tests.stores.loopback import shared_server
from tests.support import open_memory
from tests.view.conftest import HOME
from tests.view.support import Browser


def test_a_memory_on_a_server_is_shown_like_any_other() -> None:
    with open_memory(shared_server().url, collection="view") as memory:
        note = memory.add("The cache holds five hundred entries", namespace=HOME)
        looking = Browser(memory)
        listed = looking.get(looking.get("/").link("cache / of Calvin"))
        assert listed.link(note.content) == note_page(note, HOME)
        for address in (
            page("/search", HOME, q="cache"),
            note_page(note, HOME),
            page("/graph", HOME),
        ):
            assert note.content in looking.get(address).text
        assert "links_per_note" in looking.get(page("/health", HOME)).text
