"""The nouns of the house: frozen values, extra keys forbidden, nothing of ours imported.

`Answer` and `SearchResult` dump (``model_dump(mode="json")``) to the very bodies that the HTTP
contract promises, so every way in prints the same thing.
"""

import hashlib
import json
import unicodedata
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["extractive", "llm"]
"""How an answer is made: by sentences of the papers, or by a model."""


class Frozen(BaseModel):
    """A value: never changed after it is made, and never carrying a key we do not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def text_digest(text: str) -> str:
    """SHA-256 (hex) of `text` in NFC with every run of white space made one blank, ends stripped.

    Names a text whatever its line breaks: the same abstract has the same digest on any machine.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


class PaperRef(Frozen):
    """How a paper is named to a reader, without its abstract."""

    id: str
    title: str | None = None
    title_derived: bool = False
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    url: str | None = None


class Paper(PaperRef):
    """One paper. `abstract` is verbatim: quotes are slices of it.

    `title_derived` tells that the source gave no title and `title` is a display name taken from
    the abstract. `extra` holds what else the source said (decision, keywords, ...).
    """

    abstract: str
    topic: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Digest over everything that is stored: two papers with the same digest are the same record.

        The order of keys in `extra` does not count.
        """
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()

    @property
    def ref(self) -> PaperRef:
        return PaperRef(**{name: getattr(self, name) for name in PaperRef.model_fields})


class Filter(Frozen):
    """What the answer may rest on. Every given part must hold (and).

    `venue` and `topic` compare without case; `year` is an inclusive range; `author` holds when all
    its words are words of one author's name, case and accents aside; `ids` is a closed list.
    """

    venue: str | None = None
    year: tuple[int, int] | None = None
    author: str | None = None
    topic: str | None = None
    ids: tuple[str, ...] | None = None

    @property
    def empty(self) -> bool:
        return self == Filter()


ALL = Filter()
"""No filter."""


class Turn(Frozen):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class Question(Frozen):
    """All that a caller may ask for in one go."""

    text: str
    history: tuple[Turn, ...] = ()
    filter: Filter = ALL
    top_k: int = 8


class Snippet(Frozen):
    """A slice of an abstract: ``abstract[start:end] == text`` (character offsets)."""

    text: str
    start: int
    end: int


class Hit(Frozen):
    """A retrieved paper: the passage ``paper.abstract[start:end]``, its score and how it was found.

    `legs` maps a leg ("dense", "lexical") to the rank it gave the paper, from 1; a leg that did not
    find it is absent. `score` orders hits of one question; it is no probability. `signals` are the
    raw figures the gates read (cosines, word coverage).
    """

    paper: Paper
    start: int
    end: int
    score: float
    legs: dict[str, int] = Field(default_factory=dict)
    signals: dict[str, float] = Field(default_factory=dict)
    snippet: Snippet | None = None

    @property
    def text(self) -> str:
        return self.paper.abstract[self.start : self.end]


class Source(Frozen):
    """A passage as a model is shown it: named by `key` ("S1", "S2", ...), ``paper.abstract[start:end]``."""

    key: str
    paper: Paper
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.paper.abstract[self.start : self.end]


class Retrieved(Frozen):
    """A hit as it is shown beside an answer."""

    rank: int
    paper: PaperRef
    score: float
    legs: dict[str, int]


class Citation(Frozen):
    """`number` is what the reader sees; ``abstract[start:end] == quote``, always (character offsets)."""

    number: int
    paper: PaperRef
    quote: str
    start: int
    end: int


class Usage(Frozen):
    """Tokens said to and by a model for one answer; `cost` in the currency of the price table, or unknown."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


class Timings(Frozen):
    """Milliseconds."""

    retrieve: float = 0.0
    answer: float = 0.0
    total: float = 0.0


class Answer(Frozen):
    """What the house says, and what it rests on.

    When `answered` is false there are no citations, `answer` is the fixed sentence of the question's
    language, and `nearest` names the closest papers, which are reading and not sources. `dropped`
    counts sentences that failed a check and are not shown; `drop_reasons` says why. `searched_as` is the
    question that a follow-up was taken for.
    """

    id: str
    question: str
    answered: bool
    answer: str
    mode: Mode
    model: str
    citations: tuple[Citation, ...] = ()
    retrieved: tuple[Retrieved, ...] = ()
    nearest: tuple[PaperRef, ...] = ()
    dropped: int = 0
    drop_reasons: dict[str, int] = Field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    generation: str
    searched_as: str | None = None
    usage: Usage = Usage()
    timings_ms: Timings = Timings()


class SearchHit(Retrieved):
    """A row of a search page: a hit with the sentence that matches best."""

    snippet: Snippet


class SearchResult(Frozen):
    query: str
    hits: tuple[SearchHit, ...]
    generation: str


class Started(Frozen):
    """First event of a stream."""

    id: str
    generation: str
    mode: Mode
    model: str


class Found(Frozen):
    """The ranked papers, before a word is said."""

    retrieved: tuple[Retrieved, ...]


class Said(Frozen):
    """A piece of the answer's text. All pieces joined are the answer, to the byte."""

    text: str


class Cited(Frozen):
    """A citation, sent before or right after the piece that first shows its number."""

    citation: Citation


Event = Started | Found | Said | Cited | Answer
