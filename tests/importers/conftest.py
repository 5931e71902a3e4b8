"""`amem import` on an open memory whose embedder hashes words."""

from tests.cli.conftest import home as home
from tests.cli.conftest import known_embedders as known_embedders
from tests.cli.conftest import memory as memory
from tests.cli.conftest import opened as opened
