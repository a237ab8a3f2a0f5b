"""Vectors that were computed once: a cache keyed by (text digest, model), kept across kills and generations.

Vectors are kept as float16 and always read back from here, so that an index has the same numbers
whether its vectors are new or remembered.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from rag.dense import Vectors
from rag.errors import Corrupt

SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT, key BLOB, vector BLOB NOT NULL, PRIMARY KEY (model, key)
) STRICT, WITHOUT ROWID;
"""
LOOKUP = 500
"""Keys asked for in one statement (SQLite's limit is 999 in old builds)."""


def key(text: str) -> bytes:
    """The exact text decides: a changed blank is another text to a model."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class VectorCache:
    """The vectors of one model (`name` and revision in one string)."""

    def __init__(self, path: Path, model: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._model = model
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            self._db.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; {SCHEMA}")
        except sqlite3.DatabaseError as error:
            self._db.close()
            if isinstance(error, sqlite3.OperationalError):
                raise  # the disk, not the file
            raise Corrupt(
                f"the cache of vectors {path} cannot be read ({error}); delete it, and they are computed again"
            ) from error

    def __enter__(self) -> "VectorCache":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._db.close()

    def missing(self, texts: Iterable[str]) -> list[str]:
        """Those of `texts` that have no vector yet, each once, in order."""
        by_key = {key(text): text for text in texts}
        keys = list(by_key)
        for first in range(0, len(keys), LOOKUP):
            batch = keys[first : first + LOOKUP]
            marks = ",".join("?" * len(batch))
            sql = f"SELECT key FROM vectors WHERE model = ? AND key IN ({marks})"
            for (known,) in self._db.execute(sql, (self._model, *batch)):
                del by_key[known]
        return list(by_key.values())

    def put(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Durable when this returns, whatever happens to the process afterwards."""
        rows = [(self._model, key(t), v.astype("<f2").tobytes()) for t, v in zip(texts, vectors, strict=True)]
        self._db.execute("BEGIN")
        self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        self._db.execute("COMMIT")

    def get(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Vectors of texts that are all known, float16 [n, d]. Raises KeyError for one that is not."""
        found: list[NDArray[np.float16]] = []
        for text in texts:
            sql = "SELECT vector FROM vectors WHERE model = ? AND key = ?"
            row = self._db.execute(sql, (self._model, key(text))).fetchone()
            if row is None:
                raise KeyError(text[:80])
            found.append(np.frombuffer(row[0], dtype="<f2"))
        return np.stack(found)


def unit(vectors: NDArray[np.float16]) -> Vectors:
    """float32 rows of unit length again, after the rounding to float16."""
    wide = vectors.astype(np.float32)
    return np.asarray(wide / np.linalg.norm(wide, axis=-1, keepdims=True))
