"""The answerer that needs no LLM: the best verbatim sentences of the best papers, or nothing.

Nothing is said that does not stand in an abstract: a sentence of the answer is a sentence of a paper.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.catalog import Passage
from rag.dense import Vectors
from rag.gate import Support
from rag.store import Generation
from rag.text import language, plain, query_words
from rag.types import Hit, Paper


@dataclass(frozen=True)
class Evidence:
    """A sentence that answers: ``hit.paper.abstract[start:end]``, and why it was taken."""

    hit: Hit
    start: int
    end: int
    cosine: float
    coverage: float
    score: float

    @property
    def text(self) -> str:
        return self.hit.paper.abstract[self.start : self.end]


_ASKS_NUMBER = re.compile(
    r"\bhow (?:much|many|fast|large|big|long|often|few|far|small)\b|\bby what\b"
    r"|\b(?:what|which) (?:percentage|share|rate|fraction|number|factor|speed)"
    r"|多少|几[个种项倍]|百分之|多大|多快|幅度|몇|얼마",
    re.I,
)
_NAME = re.compile(r"\b(?=\w*[A-Z0-9])\w*[A-Z]\w*[A-Z0-9]\w*|\b\w+-[A-Z0-9]\w*|\b\d[\d.,]*\d\b")
_PROPER = re.compile(r"(?<=\w )[A-Z][a-z]{3,}\w*")
_BOILERPLATE = re.compile(
    r"\b(?:codes?|data|datasets?|implementation|project page|models?|website|demo|checkpoints?)\b[^.]{0,80}"
    r"\b(?:available|released|open[- ]?sourced?|publicly|found at|https?:)|https?://|github\.com",
    re.I,
)
_ASKS_CODE = re.compile(
    r"\b(?:code|github|repo|repository|open[- ]?sourced?|releases?d?|available|url|link|website)\b|代码|开源|链接|仓库",
    re.I,
)


_ASKS_LIST = re.compile(
    r"\b(?:which|what) (?:\w+ ){0,2}(?:papers|works|methods|studies|approaches|benchmarks|datasets|models|abstracts)\b"
    r"|\b(?:list|find|name|show)\b.{0,20}\b(?:papers|works|all|methods)\b|\bpapers (?:on|about|that)\b"
    r"|哪些(?:论文|工作|方法)|有哪些|列出|어떤 논문",
    re.I,
)

# What makes a sentence of a paper a good answer. Tuned on seed_dev and icml_dev together (`confab eval run`).
COSINE = 4.0
FOREIGN = 0.25  # what the words count of a question in another script: its names, which tell papers, not sentences
NUMBER = 0.25  # a number is asked for, and there is one
BOILERPLATE = 0.5  # "code is available", which nobody asked for
RANK, BEHIND = 0.1, 8.0  # off for each rank, and for each point of score, that the paper is behind the first
LIST_BEHIND = 4.0
MARGIN, LIST_MARGIN = 0.9, 0.6  # how far behind the best sentence others may be
MOST, LIST_MOST = 4, 8
ENOUGH, NARROW = 0.6, 0.2
"""Where one sentence has so much of the question's words, only others as good (this part of the margin) are added."""


class Extractor:
    """Answers from one generation. Thread safe; no model is called, the question's vector is given."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation

    def answer(self, question: str, hits: Sequence[Hit], vector: Vectors | None) -> list[Evidence]:
        """The sentences to say, in a readable order: papers by their best sentence, each paper's in its own order."""
        listed = bool(_ASKS_LIST.search(question))
        ranked = self.evidence(question, hits, vector, listed=listed)
        if not ranked:
            return []
        chosen = _list(ranked) if listed else _few(ranked, whole=language(question) == "en")
        papers = list(dict.fromkeys(e.hit.paper.id for e in chosen))
        return sorted(chosen, key=lambda e: (papers.index(e.hit.paper.id), e.start))

    def evidence(
        self, question: str, hits: Sequence[Hit], vector: Vectors | None, *, listed: bool = False
    ) -> list[Evidence]:
        """Every sentence of the hits with its scores, best first; ties by rank of the paper and place in it."""
        weights = self._generation.lexical.weights(question)
        number, code = bool(_ASKS_NUMBER.search(question)), bool(_ASKS_CODE.search(question))
        words, spread = 1.0 if language(question) == "en" else FOREIGN, self._generation.spread
        out = []
        for rank, hit in enumerate(hits):
            behind = hits[0].score - hit.score
            of_paper = (LIST_BEHIND if listed else BEHIND) * behind / spread + (0.0 if listed else RANK * rank)
            stored = self._stored(hit)
            cosines = self._cosines(stored.sentences, vector)
            for sentence, cosine in zip(self._generation.catalog.spoken(stored.sentences), cosines, strict=True):
                text = hit.paper.abstract[sentence.start : sentence.end]
                coverage = _covered(weights, set(sentence.words.split()))
                score = COSINE * float(cosine) / spread + words * coverage - of_paper
                score += NUMBER if number and re.search(r"\d", text) else 0.0
                score -= BOILERPLATE if not code and _BOILERPLATE.search(text) else 0.0
                out.append(Evidence(hit, sentence.start, sentence.end, float(cosine), coverage, score))
        return sorted(out, key=lambda e: -e.score)

    def _stored(self, hit: Hit) -> Passage:
        """The paper of a hit as the catalog has it. Raises Corrupt where it is of another generation."""
        row = self._generation.catalog.row_of(hit.paper.id)
        return self._generation.catalog.passage(-1 if row is None else row)

    def _words(self, hit: Hit) -> set[str]:
        """Every search word of a paper: of its abstract, its title and its authors, as they were made at ingest."""
        stored = self._stored(hit)
        spoken = self._generation.catalog.spoken(stored.sentences)
        return set(stored.head_words.split()).union(*(sentence.words.split() for sentence in spoken))

    def _cosines(self, rows: range, vector: Vectors | None) -> Vectors:
        """Of the question and each of these sentences; zeros where there are no sentence vectors."""
        sentences = self._generation.sentences
        if vector is None or not len(sentences):
            return np.zeros(len(rows), dtype=np.float32)
        return np.asarray(sentences[rows.start : rows.stop].astype(np.float32) @ vector)

    def meant(self, question: str, hits: Sequence[Hit]) -> list[Paper]:
        """The papers that a question can be about: of the best three those that have its names, else all three."""
        names = _names(question)
        best = [(hit.paper, len(names & self._words(hit)) if names else 0) for hit in hits[:3]]
        most = max((there for _, there in best), default=0)
        return [paper for paper, there in best if there == most]

    def support(self, question: str, hits: Sequence[Hit]) -> Support:
        """What the gate reads, of the best three papers."""
        names, held = set(query_words(" ".join(_NAME.findall(plain(question))))), set[str]()
        best = Support()
        for hit in hits[:3]:
            there = self._words(hit)
            held |= there
            near = hit.signals.get("nearness")
            best = Support(
                nearness=near if best.nearness is None or near is None else max(best.nearness, near),
                coverage=max(best.coverage, hit.signals.get("coverage", 0.0)),
                names=max(best.names, len(names & there) / len(names) if names else 0.0),
            )
        asked = _names(question)
        return replace(best, known=len(asked & held), unknown=len(asked - held))


def _names(question: str) -> set[str]:
    """The search words of its names, numbers and capitalised words."""
    readable = plain(question)
    return set(query_words(" ".join(_NAME.findall(readable) + _PROPER.findall(readable))))


def _few(ranked: list[Evidence], *, whole: bool) -> list[Evidence]:
    """The best sentence, and others nearly as good. `whole`: its coverage is of the whole question."""
    margin = MARGIN * (NARROW if whole and ranked[0].coverage >= ENOUGH else 1.0)
    return [one for one in ranked[:MOST] if one.score >= ranked[0].score - margin]


def _list(ranked: list[Evidence]) -> list[Evidence]:
    """The best sentence of each paper."""
    best = {one.hit.paper.id: one for one in reversed(ranked)}
    first = sorted(best.values(), key=lambda e: -e.score)[:LIST_MOST]
    return [one for one in first if one.score >= ranked[0].score - LIST_MARGIN]


def _covered(weights: dict[str, float], there: set[str]) -> float:
    total = sum(weights.values())
    return sum(weight for token, weight in weights.items() if token in there) / total if total else 0.0
