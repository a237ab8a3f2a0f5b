"""Question -> ranked Hits: two legs, a second stage by sentences, reciprocal rank fusion. A llama-index retriever.

    question ─┬─ vector ─ dense leg (passages) ──┐                            ┌─ rank by words
              └─ words  ─ lexical leg (BM25) ────┴─ candidates, one a paper ──┤                  ├─ fusion ─ Hits
                                                                              └─ rank by vectors ┘
                                                             (passage, best sentence, hubness)

The same question over the same generation gives the same list: ties are broken by the paper's id.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag.catalog import Sentence
from rag.dense import Vectors
from rag.models.embedding import Embedding
from rag.settings import Settings
from rag.store import Generation
from rag.text import language, query_words
from rag.types import ALL, Filter, Hit, Paper, Snippet

DEPTH = 100
"""Passages taken from each leg."""
RRF_K = 60
"""Cormack, Clarke and Büttcher 2009, "Reciprocal rank fusion outperforms Condorcet"."""


SENTENCE = 2.0
"""Weight of the best sentence's cosine beside the passage's."""
HUB = 0.75
"""How much of a paper's nearness to any question is taken off (`rag.hubness`)."""


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
    vector_rank: int | None = None
    hub: float = 0.0
    score: float = 0.0

    @property
    def vector_score(self) -> float:
        return self.cosine + SENTENCE * self.sentence - HUB * self.hub


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
        words_leg = (
            self._pool.submit(self._generation.lexical.search, question, DEPTH, rows)
            if self._wants("lexical")
            else None
        )
        vector = self._embedding.question(question) if self._wants("dense") else None
        near = self._generation.dense.search(vector, DEPTH, rows) if vector is not None else []
        candidates = self._candidates(words_leg.result() if words_leg else [], near)
        if vector is not None:
            self._second_stage(candidates, vector, question)
        ranked = self._fuse(candidates)
        hits = [self._hit(candidate, question) for candidate in ranked[:k]]
        return Retrieval(question, hits, vector, ranked)

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
        """Every candidate's cosine, and that of its best sentence; then its rank by both."""
        generation = self._generation
        far = [c for c in candidates if c.dense is None]
        if far:
            for candidate, cosine in zip(
                far, generation.dense.cosines(vector, np.array([c.row for c in far])), strict=True
            ):
                candidate.cosine = float(cosine)
        if self._settings.sentence_stage and len(generation.sentences):
            spans = [generation.catalog.sentence_rows(c.row) for c in candidates]
            flat = np.array([row for span in spans for row in span], dtype=np.int64)
            cosines, at = generation.sentences[flat].astype(np.float32) @ vector, 0
            for candidate, span in zip(candidates, spans, strict=True):
                own = cosines[at : at + len(span)]
                at += len(span)
                if len(span):
                    candidate.best_sentence = int(np.argmax(own))
                    candidate.sentence = float(own[candidate.best_sentence])
            bank = 0 if language(question) == "en" else 1
            for candidate in candidates:
                near, nearest = generation.hubs[candidate.row, bank]
                candidate.hub = float(near + SENTENCE * nearest)
        for rank, candidate in enumerate(sorted(candidates, key=lambda c: (-c.vector_score, c.row)), 1):
            candidate.vector_rank = rank

    def _fuse(self, candidates: list[Candidate]) -> list[Candidate]:
        """Reciprocal rank fusion of the rank by words and the rank by vectors."""
        for candidate in candidates:
            ranks = (candidate.lexical, candidate.vector_rank)
            candidate.score = sum(1 / (RRF_K + rank) for rank in ranks if rank is not None)
        return sorted(candidates, key=lambda c: (-c.score, -c.vector_score, c.row))

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
            signals={"cosine": candidate.cosine, "sentence": candidate.sentence, "bm25": candidate.bm25},
            snippet=_snippet(passage.paper, spoken, candidate.best_sentence, question),
        )


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
