"""Question -> ranked Hits: two legs, fusion, a second stage over what they found. A llama-index retriever.

    question ─┬─ vector ─ dense leg (passages) ─┐  reciprocal     second stage: cosine of the passage and of its
              └─ words ── lexical leg (BM25) ───┴─ rank fusion ── best sentence, less its hubness, and the words ── Hits

The same question over the same generation gives the same list: ties are broken by the paper's place.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from numpy.typing import NDArray

from rag import hubness
from rag.catalog import Sentence
from rag.dense import Vectors
from rag.models.embedding import Embedding
from rag.settings import Settings
from rag.store import Generation
from rag.text import language, query_words
from rag.types import ALL, Filter, Hit, Paper, Snippet

DEPTH = 100
"""Passages taken from each leg, and papers that the second stage looks at."""
RRF_K = 60
"""Cormack, Clarke and Büttcher 2009, "Reciprocal rank fusion outperforms Condorcet"."""

# The second stage adds cosines and words. Tuned on seed_dev and icml_dev together (`confab eval quality`), where
# neighbouring values do as well; ln N, because a word tells more in a large collection, as its idf does.
COVERAGE = 0.015
BM25 = 0.01


@dataclass
class Candidate:
    """A paper on its way through the stages; every figure that a stage gave it is kept to explain it by."""

    row: int
    lexical: int | None = None
    bm25: float = 0.0
    dense: int | None = None
    cosine: float = 0.0
    sentence: float = 0.0
    best_sentence: int | None = None
    hub: float = 0.0
    nearness: float | None = None
    coverage: float = 0.0
    fused: float = 0.0
    score: float = 0.0


@dataclass(frozen=True)
class Retrieval:
    """The hits of one question, and what else the answerer needs of it: its vector (None without a dense leg)."""

    question: str
    hits: list[Hit]
    vector: Vectors | None
    candidates: list[Candidate] = field(default_factory=list)


class Retriever(BaseRetriever):
    """Searches one generation. Thread safe."""

    def __init__(
        self, generation: Generation, embedding: Embedding, settings: Settings, pool: ThreadPoolExecutor
    ) -> None:
        super().__init__()
        self._generation, self._embedding, self._settings, self._pool = generation, embedding, settings, pool

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [as_node(hit) for hit in self.find(query_bundle.query_str, self._settings.top_k).hits]

    def find(self, question: str, k: int, filter: Filter = ALL) -> Retrieval:
        """The `k` best papers. Blocking: about as long as embedding the question."""
        rows = self._generation.catalog.rows(filter)
        lexical = self._generation.lexical
        leg = self._pool.submit(lexical.search, question, DEPTH, rows) if self._wants("lexical") else None
        vector = self._embedding.question(question) if self._wants("dense") else None
        near = self._generation.dense.search(vector, DEPTH, rows) if vector is not None else []
        candidates = _fused(self._candidates(leg.result() if leg else [], near))[:DEPTH]
        for candidate in candidates:
            candidate.score = candidate.fused
        if vector is None:
            self._cover(candidates, question)
        if vector is not None:
            self._second_stage(candidates, vector, question)
        candidates.sort(key=lambda c: (-c.score, c.row))
        hits = [self._hit(candidate, question) for candidate in candidates[:k]]
        return Retrieval(question, hits, vector, candidates)

    def _wants(self, leg: str) -> bool:
        return self._settings.legs in ("hybrid", leg)

    def _candidates(self, by_words: Sequence[tuple[int, float]], near: Sequence[tuple[int, float]]) -> list[Candidate]:
        """One candidate a paper: its best passage in each leg counts."""
        papers: dict[int, Candidate] = {}
        paper_of = self._generation.catalog.paper_of_row
        for row, cosine in near:
            if int(paper_of[row]) not in papers:
                papers[int(paper_of[row])] = Candidate(row, dense=len(papers) + 1, cosine=cosine)
        seen: set[int] = set()
        for row, score in by_words:
            paper = int(paper_of[row])
            if paper not in seen:
                seen.add(paper)
                candidate = papers.setdefault(paper, Candidate(row))
                candidate.lexical, candidate.bm25 = len(seen), score
        return list(papers.values())

    def _second_stage(self, candidates: list[Candidate], vector: Vectors, question: str) -> None:
        """The score of every candidate, from vectors and words."""
        if not candidates:
            return
        generation, rows = self._generation, np.array([c.row for c in candidates], dtype=np.int64)
        spoken = self._best_sentences(candidates, vector)
        hubs = generation.hubs[rows, 0 if language(question) == "en" else 1].sum(axis=1)
        words, bm25, most = self._words(question, rows)
        nats = generation.spread * math.log(max(2, generation.manifest.passages))
        cosines = generation.dense.cosines(vector, rows)
        for candidate, cosine, sentence, hub in zip(candidates, cosines, spoken, hubs, strict=True):
            candidate.cosine, candidate.sentence, candidate.hub = float(cosine), float(sentence), float(hub)
            candidate.coverage = words.get(candidate.row, 0.0)
            matched = min(1.5, bm25.get(candidate.row, 0.0) / most)
            told = nats * (COVERAGE * candidate.coverage + BM25 * matched)
            candidate.nearness = candidate.cosine + candidate.sentence - hubness.WEIGHT * candidate.hub
            if self._settings.sentence_stage:
                candidate.score = candidate.nearness + told

    def _cover(self, candidates: list[Candidate], question: str) -> None:
        """Coverage alone, for the gate, where no vector is searched with."""
        rows = np.array([c.row for c in candidates], dtype=np.int64)
        words = self._words(question, rows)[0]
        for candidate in candidates:
            candidate.coverage = words.get(candidate.row, 0.0)

    def _words(self, question: str, rows: NDArray[np.int64]) -> tuple[dict[int, float], dict[int, float], float]:
        """Coverage and BM25 of each row, and twice the weight of all words: about the most that BM25 gives."""
        if not self._wants("lexical"):
            return {}, {}, 1.0
        lexical = self._generation.lexical
        weights = lexical.weights(question)
        bm25 = dict(lexical.search_words(list(weights), len(rows), rows))
        return lexical.coverage(weights, rows), bm25, 2 * sum(weights.values()) or 1.0

    def _best_sentences(self, candidates: list[Candidate], vector: Vectors) -> list[float]:
        """Each candidate's best sentence is noted; its cosine, 0 where sentences have no vectors."""
        generation = self._generation
        if not len(generation.sentences):
            return [0.0] * len(candidates)
        spans = [generation.catalog.sentence_rows(c.row) for c in candidates]
        flat = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        cosines, at, best = generation.sentences[flat].astype(np.float32) @ vector, 0, []
        for candidate, span in zip(candidates, spans, strict=True):
            own, at = cosines[at : at + len(span)], at + len(span)
            candidate.best_sentence = int(np.argmax(own)) if len(span) else None
            best.append(float(own.max()) if len(span) else 0.0)
        return best

    def _hit(self, candidate: Candidate, question: str) -> Hit:
        passage = self._generation.catalog.passage(candidate.row)
        spoken = self._generation.catalog.spoken(passage.sentences)
        legs = {"dense": candidate.dense, "lexical": candidate.lexical}
        return Hit(
            paper=passage.paper,
            start=passage.start,
            end=passage.end,
            score=round(candidate.score, 6),
            legs={leg: rank for leg, rank in legs.items() if rank is not None},
            signals=_signals(candidate),
            snippet=_snippet(passage.paper, spoken, candidate.best_sentence, question),
        )


def _fused(candidates: list[Candidate]) -> list[Candidate]:
    """Best first by reciprocal rank fusion of the two legs."""
    for candidate in candidates:
        ranks = (candidate.lexical, candidate.dense)
        candidate.fused = sum(1 / (RRF_K + rank) for rank in ranks if rank is not None)
    return sorted(candidates, key=lambda c: (-c.fused, c.row))


def _signals(candidate: Candidate) -> dict[str, float]:
    if candidate.nearness is None:
        return {"coverage": candidate.coverage}
    return {
        "cosine": candidate.cosine,
        "sentence": candidate.sentence,
        "nearness": candidate.nearness,
        "coverage": candidate.coverage,
    }


def _snippet(paper: Paper, spoken: Sequence[Sentence], best: int | None, question: str) -> Snippet:
    """The sentence that matches best: by vector, else by shared words."""
    if best is None:
        asked = set(query_words(question))
        shared = [len(asked & set(sentence.words.split())) for sentence in spoken]
        best = int(np.argmax(shared)) if shared else 0
    start, end = spoken[best][:2] if spoken else (0, len(paper.abstract))
    return Snippet(text=paper.abstract[start:end], start=start, end=end)


def as_node(hit: Hit) -> NodeWithScore:
    """Hit -> NodeWithScore, for llama-index applications that our retriever is dropped into."""
    node = TextNode(
        id_=f"{hit.paper.id}@{hit.start}",
        text=hit.text,
        start_char_idx=hit.start,
        end_char_idx=hit.end,
        metadata={"paper_id": hit.paper.id, "title": hit.paper.title, "venue": hit.paper.venue, "year": hit.paper.year},
    )
    return NodeWithScore(node=node, score=hit.score)
