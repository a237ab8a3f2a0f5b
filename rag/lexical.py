"""The word index. The only room that names tantivy.

Tokens are made by `rag.text.words`, for texts and questions alike; tantivy is handed tokens separated by
blanks and does BM25 (k1 1.2, b 0.75) over three fields. Its own query syntax is never parsed: what a
person types is words, not a program (FACTS 2).
"""

import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import tantivy
from numpy.typing import NDArray

from rag.errors import Corrupt
from rag.text import query_words, words
from rag.types import Paper

Ranked = list[tuple[int, float]]
"""(row, BM25 score), best first; equal scores by row."""

FIELDS = {"body": 1.0, "title": 0.6, "authors": 0.6}
SMALL = 2_000
"""Up to so many allowed rows the rows themselves are part of the query; above, results are sifted."""


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", stored=True, indexed=True, fast=True)
    for field in FIELDS:
        builder.add_text_field(field, tokenizer_name="blanks", index_option="freq")
    return builder.build()


def _register(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer("blanks", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


def build(folder: Path, passages: Iterable[tuple[int, Paper, str]]) -> None:
    """A new index of (row, paper, words of the passage separated by blanks) in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    index = _register(tantivy.Index(_schema(), path=str(folder)))
    writer = index.writer(heap_size=64_000_000, num_threads=1)  # one thread, one order: the same index each time
    for row, paper, body in passages:
        document = tantivy.Document()
        document.add_unsigned("row", row)
        title = paper.title or ""
        if paper.title_derived and " " in title:  # its first words, not a name
            title = ""
        title_words = " ".join(words(title))
        document.add_text("body", body if paper.title_derived else f"{title_words} {body}")
        document.add_text("title", title_words)
        document.add_text("authors", " ".join(words("\n".join(paper.authors))))
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


class Lexical:
    """The words of one generation, opened to be read."""

    def __init__(self, folder: Path) -> None:
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._index = _register(self._opened(folder))
        except (ValueError, OSError) as error:
            raise Corrupt(f"the word index of {folder.parent.name} cannot be opened ({error})") from error
        self._schema = self._index.schema
        self._searcher = self._index.searcher()

    def _opened(self, folder: Path) -> tantivy.Index:
        """tantivy takes a lock to open its files; where they may not be written, a copy is opened."""
        try:
            return tantivy.Index.open(str(folder))
        except ValueError as error:
            if "Failed to acquire Lockfile" not in str(error):
                raise
        self._copy = tempfile.TemporaryDirectory(prefix="confab-words-")
        copy = Path(self._copy.name) / "words"
        shutil.copytree(folder, copy, copy_function=shutil.copyfile)
        return tantivy.Index.open(str(copy))

    def count(self) -> int:
        return int(self._searcher.num_docs)

    def idf(self, token: str) -> float:
        """ln(1 + (N - n + 0.5) / (n + 0.5)), n the passages that hold `token`: BM25's weight of a word."""
        n = self._searcher.doc_freq("body", token)
        return math.log1p((self._searcher.num_docs - n + 0.5) / (n + 0.5))

    def weights(self, text: str) -> dict[str, float]:
        """The telling words of a question and their idf. Chinese, Japanese and Korean words that no text holds say
        nothing about texts in English, and are left out."""
        weights = {token: self.idf(token) for token in query_words(text)}
        return {token: idf for token, idf in weights.items() if token.isascii() or not self._absent(token)}

    def _absent(self, token: str) -> bool:
        return int(self._searcher.doc_freq("body", token)) == 0

    def coverage(self, weights: dict[str, float], rows: NDArray[np.int64]) -> dict[int, float]:
        """For each of `rows` the share (0 to 1) of the weight of a question's words that it holds in any field."""
        total = sum(weights.values())
        if not total or not len(rows):
            return {}
        held = [
            (tantivy.Occur.Should, tantivy.Query.const_score_query(self._term(token), idf))
            for token, idf in weights.items()
        ]
        among = self._among(rows)
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, tantivy.Query.boolean_query(held)), among])
        return {row: score / total for row, score in self._top(query, len(rows))}

    def _among(self, rows: NDArray[np.int64]) -> tuple[tantivy.Occur, tantivy.Query]:
        """The rows alone, at no score."""
        these = tantivy.Query.term_set_query(self._schema, "row", [int(row) for row in rows])
        return tantivy.Occur.Must, tantivy.Query.const_score_query(these, 0.0)

    def search(self, text: str, k: int, rows: NDArray[np.int64] | None = None) -> Ranked:
        """The `k` best passages among `rows` (all where None) for the words of `text`."""
        return self.search_words(query_words(text), k, rows)

    def search_words(self, tokens: Sequence[str], k: int, rows: NDArray[np.int64] | None = None) -> Ranked:
        if not tokens or (rows is not None and len(rows) == 0):
            return []
        said = Counter(tokens)
        query = tantivy.Query.boolean_query(
            [
                (
                    tantivy.Occur.Should,
                    tantivy.Query.boost_query(self._term(token), times) if times > 1 else self._term(token),
                )
                for token, times in said.items()
            ]
        )
        if rows is None:
            return self._top(query, k)
        if len(rows) <= SMALL:
            return self._top(tantivy.Query.boolean_query([(tantivy.Occur.Must, query), self._among(rows)]), k)
        return self._sifted(query, k, rows)

    def _term(self, token: str) -> tantivy.Query:
        return tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.boost_query(self._one(field, token), boost))
                for field, boost in FIELDS.items()
            ]
        )

    def _one(self, field: str, token: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, token, "freq")

    def _top(self, query: tantivy.Query, k: int) -> Ranked:
        # a little more than k, so that a tie at the edge is broken by row and not by chance
        hits = self._searcher.search(query, limit=k + 50, count=False).hits
        rows = [int(self._searcher.doc(address)["row"][0]) for _, address in hits]
        ranked = sorted(((row, float(score)) for row, (score, _) in zip(rows, hits, strict=True)), key=_best_first)
        return ranked[:k]

    def _sifted(self, query: tantivy.Query, k: int, rows: NDArray[np.int64]) -> Ranked:
        allowed, limit = set(rows.tolist()), 4 * k
        while True:
            found = self._top(query, limit)
            kept = [hit for hit in found if hit[0] in allowed]
            if len(kept) >= k or len(found) < limit:
                return kept[:k]
            limit *= 8


def _best_first(hit: tuple[int, float]) -> tuple[float, int]:
    return (-hit[1], hit[0])
