"""Many questions to the engine of the service: concurrent, and resumable where it was stopped.

Every outcome is written as it comes; a run that is started again over the same folder asks only what is
missing. The ranking is read to `depth` with `engine.hits`; with answers the very stream of the service is
drained, and what it retrieved leads the ranking.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evals.cases import Case
from evals.resolve import Library
from evals.rows import Found, Quoted, Row, once
from evals.saved import Text, read_rows, write_papers, write_rows
from rag.errors import ConfabError, NotFound, SettingsError
from rag.types import Answer, Event, Hit, Question, Said

FOUND, SNIPPETS = 10, 3
"""Retrieved papers kept with title and score, and those also with their best sentence."""


class Engine(Library, Protocol):
    """The part of `rag.engine.QueryEngine` that a run asks."""

    def hits(self, question: Question) -> list[Hit]: ...

    def stream(self, question: Question) -> AsyncIterator[Event]: ...

    def explain(self, question: str, paper_id: str) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Plan:
    """How a set is run. `top_k` is the service's own: what an answer rests on; `depth` is how far rankings are scored.

    `budget`: no further question is asked once answers have cost that much.
    """

    answers: bool = True
    depth: int = 10
    top_k: int = 8
    concurrency: int = 2
    budget: float | None = None


Keep = Callable[[Row], None]


async def run(engine: Engine, cases: Sequence[Case], plan: Plan, folder: Path, tick: Keep = lambda _: None) -> int:
    """Ask what `folder` has no outcome for; how many were asked. Raises SettingsError where a budget has no price.

    `tick` is told of every outcome, of before and of now. An error of the house is the outcome of its
    question and is tried again by the next run; anything else is a bug, ends the run, and loses nothing.
    """
    path = folder / "rows.jsonl"
    rows = {row.id: row for row in read_rows(path, torn_end=True)} if path.is_file() else {}
    done = {key: row for key, row in rows.items() if row.error is None}
    write_rows(path, cases, done)
    left = [case for case in cases if case.id not in done]
    for row in done.values():
        tick(row)
    with path.open("a", encoding="utf-8") as file:

        def keep(row: Row) -> None:
            file.write(row.line())
            file.flush()
            done[row.id] = row
            tick(row)

        await _ask_all(engine, left, plan, keep, done)
    write_rows(path, cases, done)
    write_papers(folder / "papers.jsonl", shown(engine, cases, done))
    return sum(case.id in done for case in left)


async def _ask_all(engine: Engine, cases: Iterable[Case], plan: Plan, keep: Keep, done: Mapping[str, Row]) -> None:
    queue = iter(cases)

    async def worker() -> None:
        for case in queue:
            if plan.budget is not None and spent(done.values()) >= plan.budget:
                return
            keep(await ask(engine, case, plan))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, plan.concurrency)):
                group.create_task(worker())
    except ExceptionGroup as several:
        raise several.exceptions[0] from None


def spent(rows: Iterable[Row]) -> float:
    """Cost so far. Raises SettingsError where tokens were said and the model has no price."""
    total = 0.0
    for row in rows:
        if row.usage.cost is None and row.usage.prompt_tokens:
            raise SettingsError("a budget needs the model's price; set CONFAB_PRICES (`confab config show` lists it)")
        total += row.usage.cost or 0.0
    return total


async def ask(engine: Engine, case: Case, plan: Plan) -> Row:
    """The outcome of one question."""
    wanted = Question(text=case.question, history=case.history, top_k=plan.depth + len(case.exclude))
    try:
        started = time.perf_counter()
        hits = await asyncio.to_thread(engine.hits, wanted)
        retrieving = {"retrieve": _ms(started)}
        row = _ranked(case, plan, hits).model_copy(update={"timings_ms": retrieving})
        return await _answered(engine, wanted, plan, row) if plan.answers else row
    except ConfabError as error:
        return Row(id=case.id, depth=plan.depth, error=f"{type(error).__name__}: {error.message}")


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _ranked(case: Case, plan: Plan, hits: Sequence[Hit]) -> Row:
    kept = [hit for hit in hits if hit.paper.id not in case.exclude][: plan.depth]
    found = [
        Found(
            paper=hit.paper.id, title=hit.paper.title, score=hit.score, legs=hit.legs,
            signals={name: round(value, 6) for name, value in hit.signals.items()},
            snippet=hit.snippet.text if hit.snippet and place < SNIPPETS else None,
        )
        for place, hit in enumerate(kept[:FOUND])
    ]  # fmt: skip
    return Row(id=case.id, retrieved=once(hit.paper.id for hit in kept), depth=plan.depth, found=tuple(found))


async def _answered(engine: Engine, wanted: Question, plan: Plan, row: Row) -> Row:
    """`row` with the answer of the service's own stream."""
    question = wanted.model_copy(update={"top_k": plan.top_k})
    started, first_token, answer = time.perf_counter(), None, None
    async for event in engine.stream(question):
        if first_token is None and isinstance(event, Said):
            first_token = _ms(started)
        if isinstance(event, Answer):
            answer = event
    assert answer is not None, "a stream ends with its answer"
    timings = {"retrieve": answer.timings_ms.retrieve, "answer": answer.timings_ms.answer, "total": _ms(started)}
    best = next(iter(row.retrieved), None)
    gate = (await asyncio.to_thread(engine.explain, answer.searched_as or question.text, best))["gate"] if best else {}
    ranking = once([*(one.paper.id for one in answer.retrieved), *row.retrieved])
    return row.model_copy(
        update={
            "retrieved": ranking[: plan.depth],
            "answer": answer.answer,
            "abstained": not answer.answered,
            "citations": once(citation.paper.id for citation in answer.citations),
            "evidence": round(gate["confidence"], 6) if gate else None,
            "quotes": _quotes(engine, answer),
            "dropped": answer.dropped,
            "degraded": answer.degraded,
            "usage": answer.usage,
            "timings_ms": timings if first_token is None else timings | {"first_token": first_token},
        }
    )


def _quotes(engine: Engine, answer: Answer) -> tuple[Quoted, ...]:
    """Every citation, checked against the abstract as the index has it and against what was retrieved."""
    retrieved = {one.paper.id for one in answer.retrieved}
    quotes = []
    for one in answer.citations:
        text = _abstract(engine, one.paper.id)
        valid = one.paper.id in retrieved and bool(one.quote) and text[one.start : one.end] == one.quote
        quotes.append(
            Quoted(number=one.number, paper=one.paper.id, quote=one.quote, start=one.start, end=one.end, valid=valid)
        )
    return tuple(quotes)


def _abstract(engine: Library, paper_id: str) -> str:
    try:
        return engine.paper(paper_id).abstract
    except NotFound:
        return ""


def shown(engine: Library, cases: Sequence[Case], rows: Mapping[str, Row]) -> dict[str, Text]:
    """Texts that a report shows: of gold, near and cited papers, and of the first three retrieved."""
    wanted: set[str] = set()
    for case in cases:
        row = rows.get(case.id)
        wanted.update(case.gold, case.near, *((row.citations, row.retrieved[:3]) if row else ()))
    out = {}
    for key in wanted:
        try:
            paper = engine.paper(key)
        except NotFound:
            continue
        out[key] = {"title": paper.title or "", "abstract": paper.abstract}
    return out
