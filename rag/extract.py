"""The answerer that needs no LLM: the best verbatim sentences of the best papers, or nothing.

Nothing is said that does not stand in an abstract: a sentence of the answer is a sentence of a paper.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.catalog import Sentence
from rag.dense import Vectors
from rag.gate import Support
from rag.store import Generation
from rag.text import query_words
from rag.types import Hit


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
_BOILERPLATE = re.compile(
    r"\b(?:codes?|data|datasets?|implementation|project page|models?|website|demo|checkpoints?)\b[^.]{0,80}"
    r"\b(?:available|released|open[- ]?sourced?|publicly|found at|https?:)|https?://|github\.com",
    re.I,
)
_ASKS_CODE = re.compile(
    r"\b(?:code|github|repo|repository|open[- ]?sourced?|releases?d?|available|url|link|website)\b|代码|开源|链接|仓库",
    re.I,
)


class Extractor:
    """Answers from one generation. Thread safe; no model is called, the question's vector is given."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation

    def evidence(self, question: str, hits: Sequence[Hit], vector: Vectors | None) -> list[Evidence]:
        """Every sentence of the hits with its scores, best first; ties by rank of the paper and place in it."""
        weights = self._generation.lexical.weights(question)
        number, code = bool(_ASKS_NUMBER.search(question)), bool(_ASKS_CODE.search(question))
        out = []
        for hit in hits:
            spoken, _ = self._spoken(hit)
            for sentence, cosine in zip(spoken, self._cosines(hit, vector), strict=True):
                text = hit.paper.abstract[sentence.start : sentence.end]
                coverage = _covered(weights, set(sentence.words.split()))
                score = 6 * float(cosine) + coverage
                if number and re.search(r"\d", text):
                    score += 0.25
                if not code and _BOILERPLATE.search(text):
                    score -= 0.5
                out.append(Evidence(hit, sentence.start, sentence.end, float(cosine), coverage, score))
        return sorted(out, key=lambda e: -e.score)

    def _spoken(self, hit: Hit) -> tuple[list[Sentence], set[str]]:
        """A paper's sentences, and the words of its title and authors."""
        catalog = self._generation.catalog
        row = catalog.row_of(hit.paper.id)
        if row is None:
            return [], set()
        passage = catalog.passage(row)
        return catalog.spoken(passage.sentences), set(passage.head_words.split())

    def _cosines(self, hit: Hit, vector: Vectors | None) -> Vectors:
        """Of the question and each sentence of a paper; zeros where there are no sentence vectors."""
        generation = self._generation
        row = generation.catalog.row_of(hit.paper.id)
        rows = generation.catalog.sentence_rows(row) if row is not None else range(0)
        if vector is None or not len(generation.sentences):
            return np.zeros(len(rows), dtype=np.float32)
        return np.asarray(generation.sentences[rows.start : rows.stop].astype(np.float32) @ vector)

    def answer(self, question: str, hits: Sequence[Hit], vector: Vectors | None, most: int = 4) -> list[Evidence]:
        """The sentences to say, in a readable order: papers by their best sentence, each paper's in its own order."""
        ranked = self.evidence(question, hits, vector)
        if not ranked:
            return []
        first = ranked[0]
        chosen = [first]
        for evidence in ranked[1:]:
            if len(chosen) == most or evidence.score < first.score - 0.45:
                break
            chosen.append(evidence)
        papers = list(dict.fromkeys(e.hit.paper.id for e in chosen))
        return sorted(chosen, key=lambda e: (papers.index(e.hit.paper.id), e.start))

    def support(self, question: str, hits: Sequence[Hit]) -> Support:
        """What the gate reads, of the best three papers."""
        weights = self._generation.lexical.weights(question)
        names = set(query_words(" ".join(_NAME.findall(question))))
        best = Support(names=0.0 if names else 1.0)
        for hit in hits[:3]:
            spoken, head = self._spoken(hit)
            said = [set(sentence.words.split()) for sentence in spoken]
            there = head.union(*said)
            best = Support(
                cosine=max(best.cosine, hit.signals.get("cosine", 0.0)),
                sentence=max(best.sentence, hit.signals.get("sentence", 0.0)),
                coverage=max(best.coverage, _covered(weights, there)),
                spoken=max(best.spoken, *(_covered(weights, one) for one in said), 0.0),
                names=max(best.names, len(names & there) / len(names) if names else 1.0),
            )
        return best


def _covered(weights: dict[str, float], there: set[str]) -> float:
    total = sum(weights.values())
    return sum(weight for token, weight in weights.items() if token in there) / total if total else 0.0
