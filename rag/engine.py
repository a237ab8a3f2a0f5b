"""The one engine behind every way in: search, stream, answer, paper. `open_engine` is the composition root.

`answer` drains `stream`: there is one path. Work that computes runs in a bounded pool of threads, off the
event loop; each question keeps the generation that it began with, so no answer mixes two.
"""

import asyncio
import re
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import QueryBundle

from rag import generate, prompts
from rag.attributes import missing
from rag.dense import forget_clients
from rag.errors import Internal, ModelMismatch, NotFound, UpstreamError
from rag.extract import Evidence, Extractor
from rag.followup import standalone
from rag.gate import confidence, threshold
from rag.models import chat, embedding
from rag.models.embedding import Embedding
from rag.retrieve import Retrieval, Retriever, as_node
from rag.settings import Settings
from rag.store import Generation, Store
from rag.text import language
from rag.types import (
    ALL,
    Answer,
    Citation,
    Cited,
    Event,
    Filter,
    Found,
    Hit,
    Mode,
    Paper,
    Question,
    Retrieved,
    Said,
    SearchHit,
    SearchResult,
    Started,
    Timings,
    Usage,
)

NEAREST = 3
EXTRACTIVE = "extractive"
T = TypeVar("T")


@dataclass(frozen=True)
class _Served:
    """All that hangs on one generation."""

    generation: Generation
    retriever: Retriever
    extractor: Extractor


class QueryEngine(BaseQueryEngine):
    """Answers from the current generation. Safe to share between tasks of one event loop."""

    def __init__(self, settings: Settings, store: Store, embedding: Embedding, model: chat.ChatModel | None) -> None:
        super().__init__(callback_manager=None)
        self._settings, self._store, self._embedding, self._chat = settings, store, embedding, model
        self._pool = ThreadPoolExecutor(settings.search_threads, "search")
        self._legs = ThreadPoolExecutor(settings.search_threads, "leg")
        self._served = self._serve(store.open())

    def _serve(self, generation: Generation) -> _Served:
        mark = generation.manifest
        if (mark.embedding, mark.revision) != (self._embedding.name, self._embedding.revision):
            raise ModelMismatch(
                f"{mark.generation} was built with {mark.embedding} ({mark.revision}), CONFAB_EMBED_MODEL is "
                f"{self._embedding.name} ({self._embedding.revision}); set it back, or make the index again with "
                "`confab ingest --rebuild`"
            )
        retriever = Retriever(generation, self._embedding, self._settings, self._legs)
        return _Served(generation, retriever, Extractor(generation))

    # what is served

    @property
    def generation(self) -> str:
        return self._served.generation.name

    @property
    def mode(self) -> Mode:
        return "extractive" if self._chat is None else "llm"

    @property
    def model(self) -> str:
        return EXTRACTIVE if self._chat is None else self._chat.name

    def warm(self) -> None:
        """Load what the first question would wait for. Blocking; a model that cannot be reached is no matter yet."""
        with suppress(UpstreamError):
            self._served.retriever.find("warm up", 1)

    async def follow(self) -> bool:
        """Serve a newer generation if there is one. Questions under way end on the one they began with."""
        if self._store.current() in (None, self.generation):
            return False
        self._served = await self._run(lambda: self._serve(self._store.open()))
        forget_clients()
        return True

    def status(self) -> dict[str, Any]:
        """What is served and by which models: for probes and `doctor`."""
        manifest = self._served.generation.manifest
        return {
            "generation": manifest.generation,
            "created": manifest.created,
            "papers": manifest.papers,
            "embedding": manifest.embedding,
            "mode": self.mode,
            "model": self.model,
        }

    async def aclose(self) -> None:
        if self._chat is not None:
            await self._chat.aclose()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._legs.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    # looking things up

    def paper(self, paper_id: str) -> Paper:
        """Raises NotFound."""
        paper = self._served.generation.catalog.paper(paper_id)
        if paper is None:
            raise NotFound(f"there is no paper {paper_id!r} in {self.generation}")
        return paper

    def papers(self) -> Iterator[Paper]:
        """Every paper of the generation that is served, read as it is asked for."""
        return self._served.generation.catalog.all_papers()

    async def search(self, query: str, *, k: int = 10, filter: Filter = ALL) -> SearchResult:
        served = self._served
        found = await self._run(lambda: served.retriever.find(query, k, filter))
        hits = tuple(
            SearchHit(**dict(_shown(rank, hit)), snippet=hit.snippet)
            for rank, hit in enumerate(found.hits, 1)
            if hit.snippet is not None
        )
        return SearchResult(query=query, hits=hits, generation=served.generation.name)

    def hits(self, question: Question) -> list[Hit]:
        """Retrieval alone, blocking, without a model: what evaluations measure."""
        asked = standalone(question.text, question.history)
        return self._served.retriever.find(asked, question.top_k, question.filter).hits

    def explain(self, question: str, paper_id: str) -> dict[str, Any]:
        """At which stage a paper was lost for a question: its ranks and scores, blocking. Raises NotFound."""
        self.paper(paper_id)
        served = self._served
        found = served.retriever.find(question, 50)
        row = served.generation.catalog.row_of(paper_id)
        paper = served.generation.catalog.paper_of_row[row]
        of_row = served.generation.catalog.paper_of_row
        at = next((n for n, c in enumerate(found.candidates, 1) if of_row[c.row] == paper), None)
        sure, least = self._confidence(served, question, found), threshold(self._settings.abstain_below)
        gate = {"confidence": sure, "threshold": least}
        if at is None:
            return {"candidate": False, "gate": gate}
        c = found.candidates[at - 1]
        return {
            "candidate": True,
            "lexical_rank": c.lexical,
            "bm25": c.bm25,
            "dense_rank": c.dense,
            "cosine": c.cosine,
            "sentence_cosine": c.sentence,
            "hubness": c.hub,
            "coverage": c.coverage,
            "fused_rank": 1 + sum(other.fused > c.fused for other in found.candidates),
            "fused_score": c.fused,
            "final_rank": at,
            "final_score": c.score,
            "gate": gate,
        }

    # answering

    async def answer(self, question: Question) -> Answer:
        """Raises ConfabError."""
        async with aclosing(self.stream(question)) as events:
            said = [event async for event in events]
        last = said[-1]
        if not isinstance(last, Answer):
            raise Internal("a stream ended without an Answer")
        return last

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Started, Found, then Said and Cited as they are checked, then the Answer. Raises ConfabError.

        Closing the generator ends the model's call upstream.
        """
        served, clock = self._served, _Clock()
        answer_id = f"ans_{uuid.uuid4().hex}"
        yield Started(id=answer_id, generation=served.generation.name, mode=self.mode, model=self.model)
        said = _Draft(self.mode, self.model, self._settings.chat_max_calls)
        asked = await self._alone(question, said)
        found = await self._run(lambda: served.retriever.find(asked, question.top_k, question.filter))
        retrieved = tuple(_shown(rank, hit) for rank, hit in enumerate(found.hits, 1))
        yield Found(retrieved=retrieved)
        clock.lap()

        if await self._run(lambda: self._speaks_of(served, asked, found)):
            async for event in self._say(served, question, asked, found, said):
                yield event
        if not said.text:
            none = not found.hits and not question.filter.empty
            said.text = (prompts.no_match if none else prompts.decline)(language(question.text))
            yield Said(text=said.text)
        yield Answer(
            id=answer_id,
            question=question.text,
            answered=bool(said.citations),
            answer=said.text,
            mode=said.mode,
            model=said.model,
            citations=tuple(said.citations),
            retrieved=retrieved,
            nearest=() if said.citations else tuple(hit.paper.ref for hit in found.hits[:NEAREST]),
            dropped=sum(said.drop_reasons.values()),
            drop_reasons=said.drop_reasons,
            degraded=tuple(said.degraded),
            generation=served.generation.name,
            searched_as=asked if asked != question.text else None,
            usage=said.usage,
            timings_ms=clock.timings(),
        )

    async def _alone(self, question: Question, said: "_Draft") -> str:
        """The question as it is searched for: a follow-up is made a question of its own."""
        if self._chat is not None and question.history:
            try:
                asked, said.usage = await generate.condense(self._chat, question, said.calls, self._settings)
                return asked
            except UpstreamError:
                pass  # the names and terms it leans on serve too; the answer's own call will tell what is wrong
        return standalone(question.text, question.history)

    def _speaks_of(self, served: _Served, asked: str, found: Retrieval) -> bool:
        """The gate: does the corpus speak of this at all?"""
        if not found.hits or not re.search(r"\w", asked):
            return False
        least = threshold(self._settings.abstain_below)
        if least > 0 and missing(
            asked, served.extractor.meant(asked, found.hits), authors_shown=self._chat is not None
        ):
            return False
        return self._confidence(served, asked, found) >= least

    def _confidence(self, served: _Served, asked: str, found: Retrieval) -> float:
        support = served.extractor.support(asked, found.hits)
        return confidence(asked, support, served.generation.manifest.strangers)

    async def _say(
        self, served: _Served, question: Question, asked: str, found: Retrieval, said: "_Draft"
    ) -> AsyncGenerator[Said | Cited, None]:
        """The model's checked words; without a model, or where it fails before it said any, sentences of the papers."""
        if self._chat is not None:
            try:
                async with aclosing(
                    generate.stream(self._chat, question, asked, found.hits, self._settings, said.calls)
                ) as words:
                    async for event in words:
                        if isinstance(event, generate.Outcome):
                            said.end(event)
                            return
                        said.take(event)
                        yield event
            except UpstreamError as error:
                if said.text:
                    raise  # what is cut short is never passed off as whole
                said.degrade(f"the model failed ({error.message}); answered without it")
        evidence = await self._run(lambda: served.extractor.answer(asked, found.hits, found.vector))
        for number, piece in enumerate(evidence):
            for event in _quoted(piece, number + 1):
                said.take(event)
                yield event

    # as a llama-index query engine

    def _query(self, query_bundle: QueryBundle) -> Response:
        response: Response = asyncio_run(self._aquery(query_bundle))  # also where a loop is running, as in notebooks
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        question = Question(text=query_bundle.query_str, top_k=self._settings.top_k)
        served = self._served  # of the same generation as the answer, which begins at once
        answer = await self.answer(question)
        hits = (await self._run(lambda: served.retriever.find(question.text, question.top_k))).hits
        return Response(answer.answer, [as_node(hit) for hit in hits], answer.model_dump(mode="json"))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


class _Draft:
    """What was said so far."""

    def __init__(self, mode: Mode, model: str, calls: int) -> None:
        self.mode, self.model = mode, model
        self.text = ""
        self.citations: list[Citation] = []
        self.drop_reasons: dict[str, int] = {}
        self.degraded: list[str] = []
        self.usage = Usage()
        self.calls = chat.Calls(calls)

    def take(self, event: Said | Cited) -> None:
        if isinstance(event, Said):
            self.text += event.text
        else:
            self.citations.append(event.citation)

    def end(self, outcome: generate.Outcome) -> None:
        self.usage, self.drop_reasons = _sum(self.usage, outcome.usage), outcome.drop_reasons
        self.degraded += outcome.degraded

    def degrade(self, reason: str) -> None:
        self.mode, self.model = "extractive", EXTRACTIVE
        self.degraded.append(reason)


class _Clock:
    """Milliseconds of the two halves of an answer."""

    def __init__(self) -> None:
        self._start = self._middle = time.perf_counter()

    def lap(self) -> None:
        self._middle = time.perf_counter()

    def timings(self) -> Timings:
        now = time.perf_counter()
        first, second = self._middle - self._start, now - self._middle
        return Timings(
            retrieve=round(first * 1000, 1), answer=round(second * 1000, 1), total=round((first + second) * 1000, 1)
        )


def _sum(first: Usage, second: Usage) -> Usage:
    costs = [one.cost for one in (first, second) if one.cost is not None]
    return Usage(
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        cost=sum(costs) if costs else None,
    )


def _shown(rank: int, hit: Hit) -> Retrieved:
    return Retrieved(rank=rank, paper=hit.paper.ref, score=hit.score, legs=hit.legs)


def _quoted(piece: Evidence, number: int) -> tuple[Said, Cited]:
    """A sentence of a paper, and the citation of that sentence."""
    citation = Citation(number=number, paper=piece.hit.paper.ref, quote=piece.text, start=piece.start, end=piece.end)
    return Said(text=f"{' ' if number > 1 else ''}{piece.text} [{number}]"), Cited(citation=citation)


def open_engine(settings: Settings) -> QueryEngine:
    """Everything, put together. Raises NoIndex, ModelMismatch, Corrupt, SettingsError."""
    store = Store(settings)
    store.served()
    return QueryEngine(settings, store, embedding.build(settings), chat.build(settings))
