"""Models that fastembed (an extra) downloads from the Hugging Face hub: `CONFAB_EMBED_MODEL=fastembed:NAME`."""

import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.errors import SettingsError, UpstreamError

Floats = npt.NDArray[np.float32]


class Local:
    """One model, downloaded into `cache` and opened at the first text. Thread safe."""

    def __init__(self, name: str, cache: Path) -> None:
        self.name, self.cache = name, cache
        self._opening = threading.Lock()
        # fastembed leaves the prefixes of this family to its caller.
        self._query, self._passage = ("query: ", "passage: ") if "/multilingual-e5" in name else ("", "")

    def passages(self, texts: Sequence[str]) -> Floats:
        return _stacked(self._model.passage_embed([self._passage + text for text in texts]))

    def question(self, text: str) -> Floats:
        return np.asarray(_stacked(self._model.query_embed(self._query + text))[0], dtype=np.float32)

    @property
    def _model(self) -> Any:
        with self._opening:
            return self._opened

    @cached_property
    def _opened(self) -> Any:
        """Raises SettingsError for an unknown name, UpstreamError where the download fails."""
        from fastembed import TextEmbedding

        known = [model["model"] for model in TextEmbedding.list_supported_models()]
        if self.name.lower() not in map(str.lower, known):
            raise SettingsError(f"CONFAB_EMBED_MODEL names {self.name!r}; fastembed knows {', '.join(sorted(known))}")
        try:
            return TextEmbedding(self.name, cache_dir=str(self.cache))
        except Exception as error:  # whatever the hub, the network or the disk raises
            raise UpstreamError(
                f"fastembed could not fetch {self.name!r} ({type(error).__name__}); it needs the network once, "
                f"or the model in {self.cache}"
            ) from error


def _stacked(vectors: Iterable[Any]) -> Floats:
    return np.stack([np.asarray(vector, dtype=np.float32) for vector in vectors])
