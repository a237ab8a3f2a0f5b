"""Text -> token ids of multilingual-e5-small: XLM-RoBERTa's Unigram vocabulary, as the weights' package cuts it.

The text goes through the file's normaliser table, runs of spaces become one, a word starts with U+2581.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from rag.models.e5_file import Weights

Ids = npt.NDArray[np.int32]
CHUNK: Final = 256
"""Texts handed to the tokenizer at once: bounds the memory its encodings take (1 kB a token)."""


class Tokens:
    """Thread safe. 0.8 s and 200 MB to make, so one a process."""

    def __init__(self, weights: Weights) -> None:
        pieces = weights.pieces()
        self.bos, self.eos = pieces.bos, pieces.eos
        self.window = weights.shape.positions - 2
        self._table = weights.normaliser()
        model = models.Unigram(list(zip(pieces.texts, pieces.scores, strict=True)), pieces.unk, False)
        self._tokenizer = Tokenizer(model)
        self._tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
        self._tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)

    def windows(self, prefix: str, texts: Iterable[str]) -> Iterator[list[Ids]]:
        """For each text its windows of at most 512 ids, `<s> ... </s>`; the first is the only one up to 510 tokens.

        Outer white space is dropped, so that it does not change a vector; lone surrogates become U+FFFD.
        """
        chunk: list[str] = []
        for text in texts:
            chunk.append(self._clean(prefix + text.strip()))
            if len(chunk) == CHUNK:
                yield from self._encode(chunk)
                chunk = []
        yield from self._encode(chunk)

    def _clean(self, text: str) -> str:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").translate(self._table)

    def _encode(self, texts: Sequence[str]) -> Iterator[list[Ids]]:
        for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False):
            ids = encoding.ids
            yield [
                np.array([self.bos, *ids[start : start + self.window], self.eos], dtype=np.int32)
                for start in range(0, max(len(ids), 1), self.window)
            ]
