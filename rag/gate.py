"""The gate before an answer: does the corpus speak of this at all? Pure.

What a cosine is worth depends on the model, the script of the question and the size of the collection (the best of
many is better), so nothing is fixed here: at ingest, questions about something else are asked, and the best that they
reach is the measure (`rag.hubness`). A question passes where it is clearly nearer than those.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rag.text import language

# Tuned on seed_dev and icml_dev with off-topic questions of our own.
STEEPNESS = 2.0
DEVIATIONS = 1.8
COVERAGE = 1.0
NAMES = 0.5
THRESHOLD = 0.5
WORDS_ALONE = 8.0
SPOKEN_OF, UNSPOKEN = 0.4, 3.8
"""Whether there is a paper on something, or a request: where no paper has this share of its words, it must be so much
nearer."""
LEAST_DEVIATION = 0.01
"""Strangers that all come equally near, as in a tiny collection, are no measure finer than this."""


_WHETHER = re.compile(
    r"^\s*(?:is|are) there (?:any |a |an |some )?(?:papers?|works?|stud(?:y|ies)|research)\b"
    r"|^\s*(?:does|do|has|have|did) any (?:of the )?(?:papers?|works?|one)\b|^\s*which paper\b"
    r"|^\s*what do (?:these|the) papers say\b"
    r"|^\s*(?:please\s+)?(?:write|translate|compose|recommend|give me|tell me an?)\b",
    re.I,
)


_BARE = re.compile(r"[A-Za-z0-9 ,/-]{1,60}$")
"""A few bare words are a topic: is there a paper on it?"""
_YES_NO = re.compile(r"^\s*(?:does|do|did|is|are|was|were|can|could|has|have)\b|\bsuch as\b", re.I)
_AMONG = re.compile(r"^\s*(?:is|are|was|were)\b.*\b(?:among|one of|included|part of)\b", re.I)


@dataclass(frozen=True)
class Support:
    """What the best papers hold of a question.

    `nearness`: cosine of the passage and of its best sentence, less hubness, as the second stage has it (None where
    no vector was searched with); `coverage`: the
    share of the question's words, weighted by idf, that one paper has (0 to 1); `names`: the share of its names
    and numbers that the paper has, 0 where the question has none. `known` and `unknown` count the names that one of the
    best papers has, and that none has.
    """

    nearness: float | None = None
    coverage: float = 0.0
    names: float = 0.0
    known: int = 0
    unknown: int = 0


def confidence(question: str, support: Support, strangers: Mapping[str, tuple[float, float]]) -> float:
    """0 to 1: how sure that the corpus speaks of the question. `strangers` as the manifest has them."""
    if support.unknown and (_AMONG if not support.known else _YES_NO).search(question):
        return 0.0  # whether LUCID has a CUDA kernel is not told by a paper that speaks of LUCID alone
    needed = DEVIATIONS
    if support.coverage < SPOKEN_OF and (_WHETHER.search(question) or _BARE.match(question)):
        needed = UNSPOKEN
    if support.nearness is None:
        logit = WORDS_ALONE * (support.coverage + NAMES * support.names - 0.5)
    else:
        mean, deviation = strangers["latin" if language(question) == "en" else "cjk"]
        above = (support.nearness - mean) / max(deviation, LEAST_DEVIATION)
        logit = STEEPNESS * (above + COVERAGE * support.coverage + NAMES * support.names - needed)
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def threshold(setting: float | None) -> float:
    return THRESHOLD if setting is None else setting
