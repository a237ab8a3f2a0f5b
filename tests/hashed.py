"""A real llama-index embedding that needs no model: words hashed into a few dimensions, at once.

Set as ``CONFAB_EMBED_MODEL=llama-index:tests.hashed.Hashed``. `HASHED_LOG` in the environment names a file that
gets one line for each text embedded, `HASHED_SECONDS` the time that one text takes.
"""

import hashlib
import os
import re
import time
from pathlib import Path

from llama_index.core.base.embeddings.base import BaseEmbedding

DIMENSION = 64
MODEL = "llama-index:tests.hashed.Hashed"
OTHER = "llama-index:tests.hashed.Other"


def vector(text: str, dimension: int = DIMENSION) -> list[float]:
    """Texts that share words are near each other; the last dimension keeps any vector from being zero."""
    out = [0.0] * dimension
    for word in re.findall(r"\w+", text.casefold()):
        digest = hashlib.sha256(word.encode()).digest()
        out[int.from_bytes(digest[:4], "big") % (dimension - 1)] += 1.0 if digest[4] % 2 else -1.0
    out[-1] = 1.0
    length = sum(x * x for x in out) ** 0.5
    return [x / length for x in out]


class Hashed(BaseEmbedding):
    model_name: str = "hashed"

    def _get_text_embedding(self, text: str) -> list[float]:
        if log := os.environ.get("HASHED_LOG"):
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(hashlib.sha256(text.encode()).hexdigest() + "\n")
        time.sleep(float(os.environ.get("HASHED_SECONDS", "0")))
        return vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)


class Other(Hashed):
    """Another model by name."""

    model_name: str = "other"
