"""Ids and vectors in Chroma, and the exact product under a filter. The only room that names chromadb.

Chroma holds a passage's row number as its id and the vector, nothing else: no text, no embedding
function (FACTS 1.3, 1.7). Without a filter its graph is asked; under one the same vectors, memory-mapped
in row order, are multiplied exactly, because Chroma's cost of a filter is linear in the rows that match (FACTS 1.4).
"""

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rag.errors import ConfabError, Corrupt, SettingsError, UpstreamError
from rag.settings import Settings

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

Vectors = NDArray[np.float32]
Ranked = list[tuple[int, float]]
"""(row, cosine), best first; equal cosines by row."""

# e5's vectors lie in a narrow cone, which costs the graph recall at Chroma's defaults (0.9916); these give 0.998.
_UNWRITABLE = re.compile(r"readonly|read-only|disk is full|no space left|unable to open database", re.I)
"""Chroma writes when it opens its files, also to read them (FACTS 1.8)."""
GRAPH = {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 200}


_OPENING = threading.Lock()
"""Chroma's list of clients is not made for threads: one that is half opened is handed to the next (AttributeError)."""


def connect(folder: Path, settings: Settings) -> "ClientAPI":
    """A client of the Chroma server that is set, else of the files in `folder`. Telemetry and `.env` reading off."""
    with _OPENING:
        return _connect(folder, settings)


def _connect(folder: Path, settings: Settings) -> "ClientAPI":
    import chromadb
    from chromadb.config import Settings as ChromaSettings

    quiet: dict[str, Any] = {"_env_file": None, "anonymized_telemetry": False, "allow_reset": False}
    if settings.chroma_url is None:
        return chromadb.PersistentClient(path=str(folder), settings=ChromaSettings(**quiet))
    host, port, secure = _address(settings.chroma_url)
    key = settings.chroma_api_key
    with _server(settings):
        return chromadb.HttpClient(
            host=host,
            port=port,
            ssl=secure,
            headers={"x-chroma-token": key.get_secret_value()} if key else {},
            settings=ChromaSettings(**quiet),
            tenant=settings.chroma_tenant,
            database=settings.chroma_database,
        )


def _address(url: str) -> tuple[str, int, bool]:
    """Host, port, and whether to speak TLS. Raises SettingsError."""
    parts = urlsplit(url if "//" in url else f"http://{url}")
    try:
        port, secure = parts.port, parts.scheme == "https"
    except ValueError:
        port, secure = -1, False
    if not parts.hostname or port == -1 or parts.scheme not in ("http", "https"):
        raise SettingsError(f"CONFAB_CHROMA_URL is {url!r}; expected http(s)://host:port")
    return parts.hostname, port or (443 if secure else 8000), secure


@contextlib.contextmanager
def _server(settings: Settings) -> Iterator[None]:
    """Whatever a Chroma server does to us is an UpstreamError; local files raise what they raise."""
    try:
        yield
    except Exception as error:
        if settings.chroma_url is None or isinstance(error, ConfabError):
            raise
        host, port, _ = _address(settings.chroma_url)
        raise UpstreamError(
            f"the Chroma server at {host}:{port} does not answer as it should ({type(error).__name__}); "
            "start it, or unset CONFAB_CHROMA_URL",
            retry_after=5,
        ) from error


@contextlib.contextmanager
def _torn() -> Iterator[None]:
    """A query that local files cannot answer: they are torn."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.startswith("chromadb"):
            raise Corrupt(
                f"Chroma cannot read its files ({str(error)[:200]}); run `confab index verify`, or `confab ingest "
                "--rebuild` to make them again from the catalog"
            ) from error
        raise


def forget_clients() -> None:
    """Chroma keeps every client of a process alive; let go of those that nobody else holds (FACTS 1.1)."""
    from chromadb.api.shared_system_client import SharedSystemClient

    with _OPENING:
        SharedSystemClient.clear_system_cache()


def build(folder: Path, name: str, vectors: Vectors, settings: Settings) -> None:
    """A new collection `name` of unit vectors float32 [n, d]; the id of a vector is its row."""
    client = connect(folder, settings)
    with contextlib.suppress(Exception):  # a killed build may have left one on a server
        client.delete_collection(name)
    with _server(settings):
        _fill(client, name, vectors, settings)
    forget_clients()


def _fill(client: "ClientAPI", name: str, vectors: Vectors, settings: Settings) -> None:
    graph: dict[str, Any] = dict(GRAPH)
    if settings.chroma_url is None:
        # a sync threshold above the number of vectors would leave the graph unwritten (FACTS 1.8)
        graph["sync_threshold"] = max(2, min(len(vectors), 10_000))
        graph["batch_size"] = max(2, min(len(vectors), 1_000))
    configuration: Any = {"hnsw": graph}
    collection = client.create_collection(name, configuration=configuration, embedding_function=None)
    step = min(client.get_max_batch_size(), 5_000)
    for first in range(0, len(vectors), step):
        batch = np.asarray(vectors[first : first + step])
        collection.add(ids=[str(first + i) for i in range(len(batch))], embeddings=batch)


def drop(folder: Path, name: str, settings: Settings) -> None:
    """Remove a collection from the server, where one is set. (Local files go with their folder.)"""
    if settings.chroma_url is not None:
        with contextlib.suppress(Exception):
            connect(folder, settings).delete_collection(name)


class Dense:
    """The vectors of one generation: `vectors` float32 [n, d] in row order, unit length."""

    def __init__(self, folder: Path, name: str, vectors: Vectors, settings: Settings) -> None:
        self._vectors, self._settings = vectors, settings
        self._collection: Any = None
        self.without_graph: str | None = None
        """Why Chroma could not be opened where it may not write; the exact product over all rows stands in."""
        try:
            self._collection = connect(folder, settings).get_collection(name, embedding_function=None)
        except ConfabError:
            raise
        except Exception as error:
            if settings.chroma_url is None and _UNWRITABLE.search(str(error)):
                self._collection, self.without_graph = None, str(error)[:200]
                return
            missing = type(error).__name__ == "NotFoundError"
            ill = f"has no collection {name!r}" if missing else f"cannot open {name!r} ({str(error)[:200]})"
            raise Corrupt(
                f"Chroma {ill}; run `confab index verify`, or `confab ingest --rebuild` to make it again "
                "from the catalog"
            ) from error
        # as written: `configuration` would build the function, and so hand it the key it asks for
        stored = self._collection.configuration_json.get("embedding_function") or {}
        if stored.get("type") == "known":
            raise Corrupt(
                f"collection {name!r} stores an embedding function, which Confab never writes: the files were "
                "tampered with; run `confab ingest --rebuild`"
            )

    def count(self) -> int:
        if self._collection is None:
            return len(self._vectors)
        with _server(self._settings), _torn():
            return int(self._collection.count())

    def search(self, vector: Vectors, k: int, rows: NDArray[np.int64] | None = None) -> Ranked:
        """The `k` nearest passages among `rows` (all where None)."""
        if rows is None and self._collection is None:
            rows = np.arange(len(self._vectors), dtype=np.int64)
        if rows is not None:
            return self._exact(vector, k, rows)
        k = min(k, len(self._vectors))
        if k == 0:
            return []
        with _server(self._settings), _torn():
            found = self._collection.query(query_embeddings=vector[None, :], n_results=k, include=[])
        # the graph tells who is near; the cosine is computed again, so that equal vectors tie and order is stable
        near = np.array(sorted(int(i) for i in found["ids"][0]), dtype=np.int64)
        return self._exact(vector, k, near)

    def _exact(self, vector: Vectors, k: int, rows: NDArray[np.int64]) -> Ranked:
        cosines = self.cosines(vector, rows)
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(int(rows[i]), float(cosines[i])) for i in best]

    def cosines(self, vector: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Cosine of `vector` and each of `rows`, float32 [len(rows)]."""
        if len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1 and np.all(np.diff(rows) == 1):
            # a run is read in place
            return np.asarray(self._vectors[int(rows[0]) : int(rows[-1]) + 1] @ vector)
        return np.asarray(self._vectors[rows] @ vector)
