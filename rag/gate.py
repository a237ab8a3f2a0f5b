"""The gate before an answer: does the corpus speak of this at all? Pure.

A logistic of what the best papers hold of the question, with weights for each script of the question,
because cosines of a Chinese question over English text lie lower (FACTS 9.1). Weights are fitted by
`evals/calibrate.py` on the development sets.
"""

import math
from dataclasses import dataclass

from rag.text import language


@dataclass(frozen=True)
class Support:
    """What the best papers hold of a question.

    `cosine` and `sentence`: of the best passage and of the best sentence (0 to 1); `coverage`: the share
    of the question's words, weighted by idf, that one paper has; `spoken`: that one sentence has;
    `names`: the share of the question's names and numbers that the paper has (1 where it has none).
    """

    cosine: float = 0.0
    sentence: float = 0.0
    coverage: float = 0.0
    spoken: float = 0.0
    names: float = 1.0


@dataclass(frozen=True)
class Weights:
    bias: float
    cosine: float
    sentence: float
    coverage: float
    spoken: float
    names: float


LATIN = Weights(bias=-35.0, cosine=0.0, sentence=36.0, coverage=4.0, spoken=2.0, names=0.5)
CJK = Weights(bias=-33.0, cosine=0.0, sentence=39.0, coverage=0.0, spoken=0.0, names=1.0)
THRESHOLD = 0.5


def confidence(question: str, support: Support) -> float:
    """0 to 1: how sure that the corpus speaks of the question."""
    w = LATIN if language(question) == "en" else CJK
    logit = (
        w.bias
        + w.cosine * support.cosine
        + w.sentence * support.sentence
        + w.coverage * support.coverage
        + w.spoken * support.spoken
        + w.names * support.names
    )
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def threshold(setting: float | None) -> float:
    return THRESHOLD if setting is None else setting
