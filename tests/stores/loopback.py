"""A Qdrant server on this machine's loopback, as far as the client engine uses one.

It speaks REST, reads bodies with the client's own request models, keeps points in local mode
and refuses what a real server refuses and local mode does not: ordering and facets without an
index. It can also be down, slow, old, closed to strangers or busy.

With several replicas it refuses what a cluster refuses (Qdrant 1.19, measured on three nodes): a
read by majority while one replica is down, by quorum without more than half of them, a strong
write without the fixed leader, any write without `write_factor` replicas. A read by quorum leaves
out points on which the replicas that were asked disagree.
"""

import atexit
import json
import re
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models

from amem_integrations.core.engine import Point, SparseVector
from amem_integrations.stores.server.client import ClientStore, open_client


def point_id(number: int) -> str:
    return str(uuid.UUID(int=number))


def make_point(number: int, version: int = 1, ns: str = "a", **payload: Any) -> Point:
    return Point(
        point_id(number),
        {"ns": ns, "version": version, "created_at": number, **payload},
        [[1.0, 0.0, float(number)]],
        SparseVector((1, number + 2), (1.0, 2.0)),
    )


def open_at(server: "LoopbackServer", **options: Any) -> ClientStore:
    given = {"collection": "amem", "dimension": 3, "timeout": 5, **options}
    return open_client(server.url, **given)


class LoopbackServer:
    """Serves until `stop`. `requests` holds (method, path, query, body) of each request."""

    def __init__(
        self,
        *,
        version: str = "1.20.0",
        api_key: str | None = None,
        replicas: int = 1,
        write_factor: int = 1,
    ) -> None:
        self.replicas = [QdrantClient(":memory:") for _ in range(replicas)]
        self.write_factor = write_factor
        self.down: set[int] = set()
        self.reads = 0
        self.version = version
        self.api_key = api_key
        self.delay = 0.0
        self.message = "busy"
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.before: Callable[[str, str], None] = lambda method, path: None
        self.after: Callable[[str, str], None] = lambda method, path: None
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.indexes: dict[str, dict[str, Any]] = defaultdict(dict)
        self._lock = threading.RLock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        for replica in self.replicas:
            replica.close()

    @property
    def backend(self) -> QdrantClient:
        """A replica that is up."""
        return self.replicas[self.up[0]]

    @property
    def up(self) -> list[int]:
        return [number for number in range(len(self.replicas)) if number not in self.down]

    def recover(self, number: int, collection: str = "amem") -> None:
        """A replica is back, with the points of one that was up, as after a shard transfer."""
        client, source = self.replicas[number], self.backend
        self.down.discard(number)
        client.delete(collection, models.FilterSelector(filter=models.Filter()))
        records, _ = source.scroll(collection, limit=10_000, with_vectors=True)
        points = [
            models.PointStruct(id=each.id, vector=each.vector, payload=each.payload)
            for each in records
        ]
        if points:
            client.upsert(collection, points)

    def bodies(self, method: str, suffix: str) -> list[Any]:
        """The bodies of the requests whose path ends with `suffix`."""
        return [
            body
            for verb, path, _, body in self.requests
            if verb == method and path.endswith(suffix)
        ]

    def answer(
        self, method: str, target: str, key: str | None, body: Any
    ) -> tuple[int, dict[str, str], Any]:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.requests.append((method, parts.path, query, body))
        time.sleep(self.delay)
        if self.failures:
            status, headers = self.failures.pop(0)
            return status, headers, _error(self.message)
        if self.api_key is not None and key != self.api_key:
            return 401, {}, _error("Must provide an API key or an Authorization bearer token")
        if parts.path == "/":
            return 200, {}, {"title": "qdrant", "version": self.version}
        self.before(method, parts.path)
        try:
            with self._lock:
                result = self._ask(method, parts.path, query, body)
        except RefusedError as error:
            return error.status, {}, _error(str(error))
        except ValueError as error:
            return 400, {}, _error(str(error))
        self.after(method, parts.path)
        return 200, {}, {"result": _plain(result), "status": "ok", "time": 0.0}

    def _ask(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        """The answer of those replicas that this request goes to."""
        if method == "PUT" or path.endswith(("/points/delete", "/points/payload")):
            return self._write(method, path, query.get("ordering", "weak"), body)
        read = partial(self._route, method, path, body)
        total, up = len(self.replicas), self.up
        wanted = {"majority": total, "all": total, "quorum": total // 2 + 1}
        needed = wanted.get(query.get("consistency", ""), 1)
        if len(up) < needed:
            raise RefusedError(500, f"Service internal error: {_TOO_FEW}")
        # Another one first each time, as a cluster's nodes take turns.
        self.reads += 1
        asked = [up[(self.reads + turn) % len(up)] for turn in range(needed)]
        first, *others = (read(self.replicas[number]) for number in asked)
        if not others:
            return first
        plain = [_plain(each) for each in others]
        return [each for each in _plain(first) if all(each in other for other in plain)]

    def _write(self, method: str, path: str, ordering: str, body: Any) -> Any:
        up = self.up
        # The fixed leader of a shard is one of its replicas, here the first.
        if ordering == "strong" and 0 in self.down:
            raise RefusedError(503, "The leader of the shard is not available")
        if len(up) < self.write_factor:
            raise RefusedError(500, f"Service internal error: {_TOO_FEW}")
        answers = [self._route(method, path, body, self.replicas[number]) for number in up]
        return answers[0]

    def _route(self, method: str, path: str, body: Any, client: QdrantClient) -> Any:
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        assert found, path
        name, rest = found[1], found[2] or ""
        match method, rest:
            case "GET", "/exists":
                return {"exists": client.collection_exists(name)}
            case "PUT", "":
                create = models.CreateCollection(**body)
                return client.create_collection(
                    name,
                    vectors_config=create.vectors,
                    sparse_vectors_config=create.sparse_vectors,
                )
            case "GET", "":
                info = client.get_collection(name).model_dump(mode="json", exclude_none=True)
                schema = {
                    field: {"data_type": params.type, "points": 0}
                    for field, params in self.indexes[name].items()
                }
                return {**info, "payload_schema": schema}
            case "PUT", "/index":
                index = models.CreateFieldIndex(**body)
                self.indexes[name][index.field_name] = index.field_schema
                return _done()
            case "PUT", rest if rest.startswith("/vectors/"):
                config = TypeAdapter[models.VectorNameConfig](models.VectorNameConfig)
                return client.create_vector_name(
                    name, rest.removeprefix("/vectors/"), config.validate_python(body)
                )
            case "PUT", "/points":
                points = models.PointsList(**body)
                return client.upsert(
                    name,
                    points.points,
                    update_filter=points.update_filter,
                    update_mode=points.update_mode,
                )
            case "POST", "/points":
                wanted = models.PointRequest(**body)
                return client.retrieve(
                    name, wanted.ids, wanted.with_payload, wanted.with_vector or False
                )
            case "POST", "/points/scroll":
                scroll = models.ScrollRequest(**body)
                if isinstance(scroll.order_by, models.OrderBy):
                    self._require_index(name, scroll.order_by.key, "integer")
                found_points, following = client.scroll(
                    name,
                    scroll.filter,
                    scroll.limit or 10,
                    scroll.order_by,
                    scroll.offset,
                    scroll.with_payload,
                    scroll.with_vector or False,
                )
                return {"points": _plain(found_points), "next_page_offset": following}
            case "POST", "/points/count":
                return client.count(name, models.CountRequest(**body).filter)
            case "POST", "/facet":
                facet = models.FacetRequest(**body)
                self._require_index(name, facet.key, "keyword")
                return client.facet(name, facet.key, facet.filter, facet.limit or 10)
            case "POST", "/points/query/batch":
                batch = models.QueryRequestBatch(**body)
                return client.query_batch_points(name, batch.searches)
            case "POST", "/points/delete":
                return client.delete(name, models.FilterSelector(**body))
            case "POST", "/points/payload":
                patch = models.SetPayload(**body)
                assert patch.filter is not None
                return client.set_payload(name, patch.payload, patch.filter)
            case _:
                raise AssertionError(f"{method} {path} is not served")

    def _require_index(self, collection: str, field: str, kind: str) -> None:
        indexes = self.indexes[collection]
        if field not in indexes or indexes[field].type != kind:
            raise ValueError(f"Index required but not found for {field!r} of type {kind}")


class RefusedError(Exception):
    """What a cluster cannot do now."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


_TOO_FEW = "The replica set for shard 0 on peer 1 does not have enough active replicas"


@cache
def shared_server() -> LoopbackServer:
    """One that serves until the process ends, for tests that leave it in peace."""
    server = LoopbackServer()
    atexit.register(server.stop)
    return server


def _handler(server: LoopbackServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, headers, reply = server.answer(
                self.command, self.path, self.headers.get("api-key"), body
            )
            content = json.dumps(reply).encode()
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except ConnectionError:
                pass  # The client waited no longer.

        do_GET = do_PUT = do_POST = _serve  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _done() -> models.UpdateResult:
    return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


def _error(message: str) -> dict[str, Any]:
    return {"status": {"error": message}, "time": 0.0}


def _plain(result: Any) -> Any:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json", exclude_none=True, by_alias=True)
    if isinstance(result, list):
        return [_plain(item) for item in result]
    return result
