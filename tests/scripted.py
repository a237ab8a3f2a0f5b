"""An engine that says what it is told, at the pace it is told, and knows when nobody listens any more."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Self

from rag.errors import NotFound
from rag.types import (
    Answer,
    Citation,
    Cited,
    Event,
    Filter,
    Found,
    Paper,
    Question,
    Retrieved,
    Said,
    SearchHit,
    SearchResult,
    Snippet,
    Started,
)

ABSTRACT = "𝒳-Prune removes 38 % of the weights. It keeps “accuracy” within 0.2 points — 准确率不变。 Code is public."
QUOTE = "It keeps “accuracy” within 0.2 points — 准确率不变。"
PAPER = Paper(
    id="10.1234/x prune?#1", title="𝒳-Prune: pruning <b>boldly</b>", authors=("Ann Lee", "李雷"),
    venue="ICML", year=2026, url="https://example.org/x", abstract=ABSTRACT, extra={"decision": "oral"},
)  # fmt: skip
OTHER = Paper(id="paper-2", title="Rewinding", abstract="Rewinding helps.", venue="ICLR", year=2021, url="javascript:0")
STARTED = Started(id="a-1", generation="gen-000001", mode="extractive", model="none")
RETRIEVED = (
    Retrieved(rank=1, paper=PAPER.ref, score=0.9, legs={"dense": 1, "lexical": 2}),
    Retrieved(rank=2, paper=OTHER.ref, score=0.4, legs={"dense": 2}),
)
START = ABSTRACT.index(QUOTE)
CITATION = Citation(number=1, paper=PAPER.ref, quote=QUOTE, start=START, end=START + len(QUOTE))
PIECES = ("Accuracy ", "stays [1]", ", line\u2028 one\nline two. ", "结束。")


def answer(question: str = "?", **changed: Any) -> Answer:
    values: dict[str, Any] = {
        "id": "a-1", "question": question, "answered": True, "answer": "".join(PIECES), "mode": "extractive",
        "model": "none", "citations": (CITATION,), "retrieved": RETRIEVED, "generation": "gen-000001",
    }  # fmt: skip
    return Answer(**(values | changed))


def full_story(question: str = "?") -> list[Event]:
    said = [Said(text=piece) for piece in PIECES]
    return [STARTED, Found(retrieved=RETRIEVED), *said[:1], Cited(citation=CITATION), *said[1:], answer(question)]


def unanswered_story() -> list[Event]:
    said = "The papers here do not tell."
    final = answer(answered=False, answer=said, citations=(), nearest=(OTHER.ref, PAPER.ref))
    return [STARTED, Found(retrieved=RETRIEVED), Said(text=said), final]


Step = Event | float | Exception


class ScriptedEngine:
    """`script` holds events, seconds to wait, and errors to raise. `left` is set when a stream is over."""

    generation = "gen-000001"

    def __init__(self, script: Sequence[Step] | None = None) -> None:
        self.script = script
        self.asked: list[Question] = []
        self.searches: list[tuple[str, int, Filter]] = []
        self.entered = threading.Event()
        self.left = threading.Event()
        self.finished = False
        self.closed = False

    def told(self, script: Sequence[Step] | None = None) -> Self:
        """The same engine, told another script and remembering nothing."""
        self.script, self.finished = script, False
        self.asked.clear()
        self.entered.clear()
        self.left.clear()
        return self

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        self.asked.append(question)
        self.entered.set()
        try:
            for step in self.script if self.script is not None else full_story(question.text):
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, float | int):
                    await asyncio.sleep(step)
                else:
                    yield step
            self.finished = True
        finally:
            self.left.set()

    async def answer(self, question: Question) -> Answer:
        async with aclosing(self.stream(question)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise AssertionError("the script has no Answer")

    async def search(self, query: str, *, k: int = 10, filter: Filter = Filter()) -> SearchResult:  # noqa: B008
        self.searches.append((query, k, filter))
        snippet = Snippet(text=QUOTE, start=CITATION.start, end=CITATION.end)
        hit = SearchHit(**RETRIEVED[0].model_dump(), snippet=snippet)
        return SearchResult(query=query, hits=(hit,), generation=self.generation)

    def paper(self, paper_id: str) -> Paper:
        for paper in (PAPER, OTHER):
            if paper.id == paper_id:
                return paper
        raise NotFound(f"no paper has the id {paper_id!r}")

    async def follow(self) -> bool:
        return False

    def status(self) -> dict[str, Any]:
        return {"generation": self.generation}

    async def aclose(self) -> None:
        self.closed = True
