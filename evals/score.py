"""Rows -> figures: `scores.json`, the same bytes for the same rows, and `timings.json`. No model, no index."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evals import cases as sets
from evals import metrics
from evals.agreement import agreement
from evals.rows import Row
from evals.saved import Saved, write_json

DIGITS = 6
SEED = 0
"""Draws the intervals."""


def score(run: Saved, seed: int = SEED) -> dict[str, Any]:
    """The figures of a run, for all questions, each kind and each language. `seed` draws the intervals."""
    worth = run.worth()
    outcomes = [run.rows.get(case.id) for case in run.cases]
    return {
        "set": {"digest": sets.digest(run.cases), "questions": len(run.cases)},
        "mode": "answers" if run.answers else "retrieval",
        "depth": run.depth,
        "seed": seed,
        "missing": sum(row is None for row in outcomes),
        "errors": sum(row is not None and row.error is not None for row in outcomes),
        "groups": {
            name: _group([run.cases[place] for place in places], [worth[place] for place in places], seed)
            for name, places in metrics.groups(run.cases).items()
        },
        "agreement": agreement(run.judged, run.labels),
        "threshold_curve": [_rounded(point._asdict()) for point in metrics.threshold_curve(run.cases, run.rows)],
    }


def _group(cases: Sequence[sets.Case], worth: Sequence[metrics.Measured], seed: int) -> dict[str, Any]:
    figures = metrics.aggregate(cases, worth, seed)
    return {"questions": len(cases), "metrics": {name: _rounded(one._asdict()) for name, one in figures.items()}}


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in values.items()}


def timings(run: Saved) -> dict[str, Any]:
    """Latency in milliseconds, tokens and cost. Latencies of two runs compare only at equal `concurrency`."""
    rows = [run.rows[case.id] for case in run.cases if case.id in run.rows]
    names = ("retrieve", "answer", "first_token", "total")
    return {
        "concurrency": run.manifest.get("concurrency"),
        "latency_ms": {name: percentiles(_taken(rows, name)) for name in names},
        "prompt_tokens": _total(rows, lambda row: row.usage.prompt_tokens),
        "completion_tokens": _total(rows, lambda row: row.usage.completion_tokens),
        "cost": _cost(rows),
    }


def _taken(rows: Iterable[Row], name: str) -> list[float]:
    return [row.timings_ms[name] for row in rows if name in row.timings_ms]


def _total(rows: Iterable[Row], of: Callable[[Row], float]) -> float:
    return round(sum(of(row) for row in rows), DIGITS)


def _cost(rows: Sequence[Row]) -> float | None:
    """None where a model that spoke has no price."""
    if any(row.usage.cost is None and row.usage.prompt_tokens for row in rows):
        return None
    return _total(rows, lambda row: row.usage.cost or 0.0)


def percentiles(values: Sequence[float]) -> dict[str, float | int | None]:
    """p50, p95 (nearest rank) and how many were measured."""
    ordered = sorted(values)
    if not ordered:
        return {"p50": None, "p95": None, "n": 0}
    at = {
        name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in (("p50", 0.5), ("p95", 0.95))
    }
    return {**at, "n": len(ordered)}


def write(run: Saved, seed: int = SEED) -> dict[str, Any]:
    """Compute and save; gives the figures."""
    figures = score(run, seed)
    write_json(run.path / "scores.json", figures)
    write_json(run.path / "timings.json", timings(run))
    return figures
