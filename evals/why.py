"""At which stage a paper was lost for a question: words, vectors, fusion, the cut at top k, the gate."""

from typing import Any, Protocol

from rag.types import Frozen, Hit, Paper, Question

TOP_K = 8
"""What the service gives an answer to rest on, by default."""


class Explained(Protocol):
    """The part of `rag.engine.QueryEngine` that explains."""

    def explain(self, question: str, paper_id: str) -> dict[str, Any]: ...

    def paper(self, paper_id: str) -> Paper: ...

    def hits(self, question: Question) -> list[Hit]: ...


class Why(Frozen):
    """`stages` in order, each with what it made of the paper; `lost_at` is the first that lost it."""

    question: str
    paper: str
    title: str | None
    lost_at: str | None
    stages: dict[str, str]
    figures: dict[str, Any]
    ahead: tuple[str, ...]


def why(engine: Explained, question: str, paper_id: str, top_k: int = TOP_K) -> Why:
    """Raises NotFound where there is no such paper."""
    paper = engine.paper(paper_id)
    figures = engine.explain(question, paper_id)
    stages = _stages(figures, top_k)
    lost = [name for name, told in stages.items() if told.startswith("lost")]
    rank = figures.get("final_rank") or top_k + 1
    ahead = engine.hits(Question(text=question, top_k=top_k))[: rank - 1]
    return Why(
        question=question,
        paper=paper_id,
        title=paper.title,
        lost_at=lost[0] if lost else None,
        stages=stages,
        figures=figures,
        ahead=tuple(f"{hit.paper.title or hit.paper.id} ({hit.paper.id}, {hit.score:.4f})" for hit in ahead),
    )


def _stages(found: dict[str, Any], top_k: int) -> dict[str, str]:
    """A leg that missed the paper loses it only where the other missed it too."""
    gate = found["gate"]
    open_ = gate["confidence"] >= gate["threshold"]
    told = f"confidence {gate['confidence']:.3f}, threshold {gate['threshold']:.3f}"
    gated = f"passed ({told})" if open_ else f"lost: the service abstains ({told})"
    if not found["candidate"]:
        return {"words": "not found", "vectors": "not found", "candidates": "lost: neither leg has it", "gate": gated}
    last = found["final_rank"]
    cut = f"kept (rank {last} of {top_k})" if last <= top_k else f"lost: rank {last}, an answer rests on {top_k}"
    return {
        "words": _leg(found.get("lexical_rank"), found.get("bm25"), "BM25"),
        "vectors": _leg(found.get("dense_rank"), found.get("cosine"), "cosine"),
        "fusion": f"rank {found['fused_rank']} (score {found.get('fused_score') or 0:.4f})",
        "second stage": _leg(last, found.get("final_score"), "score") + _seen(found),
        "top k": cut,
        "gate": gated,
    }


def _seen(found: dict[str, Any]) -> str:
    """What the second stage looked at."""
    names = {"sentence_cosine": "best sentence", "coverage": "words covered", "hubness": "hubness"}
    return "".join(f"; {told} {found[name]:.3f}" for name, told in names.items() if found.get(name) is not None)


def _leg(rank: int | None, score: float | None, name: str) -> str:
    return "not found" if rank is None else f"rank {rank}" + (f" ({name} {score:.3f})" if score is not None else "")


def readable(found: Why) -> str:
    width = max(map(len, found.stages))
    lines = [f"{found.title or found.paper} ({found.paper})"]
    lines += [f"  {name:{width}}  {told}" for name, told in found.stages.items()]
    lines += [f"lost at: {found.lost_at}" if found.lost_at else "not lost: the answer may rest on it"]
    if found.ahead:
        lines += ["ahead of it:", *(f"  {rank}. {told}" for rank, told in enumerate(found.ahead, 1))]
    return "\n".join(lines) + "\n"
