"""A small engine of the house's contract for the tests of evals: words only, no model, wrong on request.

WordEngine()                       ranks by shared words, cites the best sentence, declines without evidence
WordEngine(shuffle=True)           its reranker shuffles
WordEngine(abstain_below=0)        its gate is open
WordEngine(forge=True)             its quotes do not stand in the abstracts
WordEngine(fails={"text"})         these questions raise UpstreamError
"""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from evals import manifest, saved, score
from evals import run as running
from evals.cases import Case, dump
from evals.run import Plan
from rag.errors import NotFound, UpstreamError
from rag.settings import Settings
from rag.text import query_words, sentences, words
from rag.types import (
    Answer,
    Citation,
    Cited,
    Event,
    Found,
    Hit,
    Paper,
    Question,
    Retrieved,
    Said,
    Snippet,
    Started,
    Timings,
    Usage,
)  # fmt: skip

DECLINED = "The corpus does not tell."
ABSTRACTS = {
    "p1": "We present COFT, a decoding method. It cuts bias metrics by 30 to 55 percent. Its cost is one forward pass.",
    "p2": "We propose FLAME for forgery localization. It adapts SAM with a small adapter. Code is on GitHub.",
    "p3": "EntQuant compresses a 70B model in ten minutes. It uses entropy coding below four bits.",
    "p4": "LUCID attention applies a preconditioner. It improves BABILong retrieval by 18 percent.",
    "p5": "FAHNES generates graphs and hypergraphs with features. It expands nodes scale by scale.",
}
PAPERS = tuple(
    Paper(id=key, title=text.split(".")[0], title_derived=True, abstract=text) for key, text in ABSTRACTS.items()
)
CASES = tuple(
    Case(id=f"c{n}", question=question, gold=gold, must_contain=((said,),) if said else (), kind=kind,
         expect="answer" if gold else "abstain")
    for n, (question, gold, said, kind) in enumerate([
        ("By how much does COFT reduce bias metrics?", ("p1",), "30 to 55", "fact"),
        ("What overhead does the COFT decoding method have?", ("p1",), "forward pass", "qa"),
        ("Which model does FLAME adapt with an adapter?", ("p2",), "SAM", "fact"),
        ("How long does EntQuant compress a 70B model?", ("p3",), "ten minutes", "qa"),
        ("How does LUCID attention improve BABILong?", ("p4",), "18", "qa"),
        ("How does FAHNES generate hypergraphs?", ("p5",), "features", "qa"),
        ("Who won the football world cup?", (), "", "unanswerable"),
        ("What did dinner cost yesterday evening?", (), "", "unanswerable"),
    ], 1)
)  # fmt: skip


class WordEngine:
    def __init__(
        self, papers: Sequence[Paper] = PAPERS, *, abstain_below: float = 0.3, shuffle: bool = False,
        forge: bool = False, fails: frozenset[str] | set[str] = frozenset(), cost: float | None = 0.01,
    ) -> None:  # fmt: skip
        self._papers = {paper.id: paper for paper in papers}
        self._abstain_below, self._shuffle, self._forge, self._fails, self._cost = (
            abstain_below,
            shuffle,
            forge,
            fails,
            cost,
        )
        self.generation = "gen-000001"
        self.asked: list[str] = []
        self.breaks_after: int | None = None

    def status(self) -> dict[str, Any]:
        return {"papers": len(self._papers), "embedding": "words"}

    def paper(self, paper_id: str) -> Paper:
        if paper_id not in self._papers:
            raise NotFound(f"no paper {paper_id!r}")
        return self._papers[paper_id]

    def papers(self) -> Iterator[Paper]:
        yield from self._papers.values()

    def hits(self, question: Question) -> list[Hit]:
        asked = set(query_words(question.text))
        found = [self._hit(paper, asked) for paper in self._papers.values()]
        found.sort(key=lambda hit: (-hit.score, hit.paper.id))
        if self._shuffle:
            random.Random(question.text).shuffle(found)
        return found[: question.top_k]

    def _hit(self, paper: Paper, asked: set[str]) -> Hit:
        shares = [(_share(asked, paper.abstract[a:b]), -a, b) for a, b in sentences(paper.abstract)]
        best, start, end = max(shares)
        snippet = Snippet(text=paper.abstract[-start:end], start=-start, end=end)
        score = _share(asked, paper.abstract)
        return Hit(paper=paper, start=0, end=len(paper.abstract), score=score, legs={"lexical": 1},
                   signals={"evidence": best}, snippet=snippet)  # fmt: skip

    async def stream(self, question: Question) -> AsyncIterator[Event]:
        self.asked.append(question.text)
        if self.breaks_after is not None and len(self.asked) > self.breaks_after:
            raise RuntimeError("a bug")
        if question.text in self._fails:
            raise UpstreamError("the model's server is down")
        hits = self.hits(question)
        retrieved = tuple(
            Retrieved(rank=rank, paper=hit.paper.ref, score=hit.score, legs=hit.legs)
            for rank, hit in enumerate(hits, 1)
        )
        yield Started(id="a", generation=self.generation, mode="extractive", model="words")
        yield Found(retrieved=retrieved)
        best = max(hits, key=lambda hit: hit.signals["evidence"])
        answered = best.signals["evidence"] >= self._abstain_below
        citations = (self._citation(best),) if answered else ()
        text = f"{citations[0].quote} [1]" if answered else DECLINED
        for citation in citations:
            yield Cited(citation=citation)
        yield Said(text=text)
        yield Answer(
            id="a", question=question.text, answered=answered, answer=text, mode="extractive", model="words",
            citations=citations, retrieved=retrieved, generation=self.generation,
            usage=Usage(prompt_tokens=10, completion_tokens=2, cost=self._cost),
            timings_ms=Timings(retrieve=1.5, answer=2.5, total=4.0),
        )  # fmt: skip

    def _citation(self, hit: Hit) -> Citation:
        assert hit.snippet
        quote = "made up" if self._forge else hit.snippet.text
        return Citation(number=1, paper=hit.paper.ref, quote=quote, start=hit.snippet.start, end=hit.snippet.end)

    def explain(self, question: str, paper_id: str) -> dict[str, Any]:
        hits = self.hits(Question(text=question, top_k=100))
        gate = {"confidence": max(hit.signals["evidence"] for hit in hits), "threshold": self._abstain_below}
        rank = [hit.paper.id for hit in hits].index(paper_id) + 1
        return {
            "candidate": True,
            "lexical_rank": rank,
            "dense_rank": None,
            "fused_rank": rank,
            "final_rank": rank,
            "gate": gate,
        }

    async def aclose(self) -> None:
        return None


def _share(asked: set[str], text: str) -> float:
    return round(len(asked & set(words(re.sub(r"\s+", " ", text)))) / max(len(asked), 1), 6)


WHOLE = Plan()


def ran(
    folder: Path, engine: WordEngine | None = None, plan: Plan = WHOLE, cases: Sequence[Case] = CASES
) -> saved.Saved:
    """A whole run over the small engine, saved and scored."""
    engine = engine or WordEngine()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cases.jsonl").write_text(dump(cases), "utf-8")
    saved.write_json(folder / "manifest.json", manifest.manifest("small", cases, plan, Settings(), engine))
    asyncio.run(running.run(engine, cases, plan, folder))
    run = saved.load(folder)
    score.write(run)
    return run
