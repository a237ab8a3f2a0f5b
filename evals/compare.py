"""Two runs over the same questions: what differs, whether that is more than luck, and where.

Per metric: B minus A, its 95 % interval (bootstrap over clusters of questions about one paper), a paired
permutation test with Holm's correction over the metrics tested, and the smallest difference in this metric
alone that the set would have shown four times in five. No difference found is said as "no evidence of a
difference", never as "equal".
"""

from collections.abc import Sequence
from typing import Literal

from evals import cases as sets
from evals import metrics, statistics
from evals.cases import Case
from evals.metrics import LOWER_IS_BETTER, METRICS, Measured
from evals.rows import Row
from evals.saved import Saved
from rag.errors import UsageError
from rag.types import Frozen

Verdict = Literal["better", "worse", "no evidence of a difference"]
TELLING = (
    "ndcg@10", "hit@10", "containment", "citation_precision", "citation_recall", "citation_validity", "forbidden",
    "abstention_recall", "false_refusals",
)  # fmt: skip
"""Metrics by which one question is called better or worse."""

NOTED = ("hit@1", "ndcg@10", "containment", "citation_recall", "abstention_recall")


class Compared(Frozen):
    """One metric. `difference` is B minus A, `p` is corrected, `detectable` what the set could have shown."""

    metric: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float
    p_uncorrected: float
    detectable: float
    questions: int
    verdict: Verdict


class Outcome(Frozen):
    """What one run did with a question."""

    retrieved: tuple[str, ...] = ()
    answer: str | None = None
    abstained: bool = False
    citations: tuple[str, ...] = ()
    error: str | None = None


class Moved(Frozen):
    """A question that got better or worse: `changes` maps a metric to B minus A, its sign turned so that up is good."""

    id: str
    question: str
    kind: str
    gold: tuple[str, ...]
    changes: dict[str, float]
    a: Outcome
    b: Outcome


class Comparison(Frozen):
    a: str
    b: str
    questions: int
    clusters: int
    metrics: tuple[Compared, ...]
    unscored: tuple[str, ...]
    better: tuple[Moved, ...]
    worse: tuple[Moved, ...]
    note: str


def compare(a: Saved, b: Saved, seed: int = 0) -> Comparison:
    """Raises UsageError where the two did not ask the same questions, or ranked to different depths."""
    _refuse_unlike(a, b)
    first, second = a.worth(), b.worth()
    compared, unscored = _metrics(a.cases, first, second, seed)
    moved = [
        _moved(case, a.rows.get(case.id), b.rows.get(case.id), one, two)
        for case, one, two in zip(a.cases, first, second, strict=True)
    ]
    return Comparison(
        a=a.name,
        b=b.name,
        questions=len(a.cases),
        clusters=len({case.cluster for case in a.cases}),
        metrics=tuple(compared),
        unscored=tuple(unscored),
        better=_sorted(moved, +1),
        worse=_sorted(moved, -1),
        note=_note(compared),
    )


def _refuse_unlike(a: Saved, b: Saved) -> None:
    if sets.digest(a.cases) != sets.digest(b.cases):
        raise UsageError(
            f"{a.path} and {b.path} asked different questions ({len(a.cases)}, {len(b.cases)}); compare runs of one set"
        )
    if a.depth != b.depth:
        raise UsageError(f"{a.path} ranked to depth {a.depth} and {b.path} to {b.depth}; run both with the same --k")


def _metrics(
    cases: Sequence[Case], first: Sequence[Measured], second: Sequence[Measured], seed: int
) -> tuple[list[Compared], list[str]]:
    clusters = [case.cluster for case in cases]
    summed = [[statistics.by_cluster(part, clusters) for part in metrics.arrays(worth)] for worth in (first, second)]
    found: dict[str, statistics.Difference] = {}
    for place, name in enumerate(METRICS):
        (an, ad), (bn, bd) = ((part[0][:, place], part[1][:, place]) for part in summed)
        difference = statistics.difference((an, ad), (bn, bd), seed)
        if difference is not None:
            found[name] = difference
    corrected = dict(zip(found, statistics.holm([one.p for one in found.values()]), strict=True))
    out = []
    for name, one in found.items():
        place = METRICS.index(name)
        (an, ad), (bn, bd) = ((part[0][:, place], part[1][:, place]) for part in summed)
        questions = int(max(ad.sum(), bd.sum()))
        out.append(
            Compared(
                metric=name,
                a=_round(an.sum() / ad.sum()),
                b=_round(bn.sum() / bd.sum()),
                difference=_round(one.value),
                low=_round(one.low),
                high=_round(one.high),
                p=_round(corrected[name]),
                p_uncorrected=_round(one.p),
                detectable=_round(statistics.detectable(one, questions)),
                questions=questions,
                verdict=_verdict(name, one.value, corrected[name]),
            )
        )
    return out, [name for name in METRICS if name not in found]


def _round(value: float) -> float:
    return round(float(value), 6) + 0.0


def _verdict(metric: str, difference: float, p: float) -> Verdict:
    if p >= statistics.ALPHA or difference == 0:
        return "no evidence of a difference"
    return "better" if (difference > 0) != (metric in LOWER_IS_BETTER) else "worse"


def _moved(case: Case, a: Row | None, b: Row | None, one: Measured, two: Measured) -> Moved:
    changes = {}
    for name in TELLING:
        before, after = one[name], two[name]
        if before is not None and after is not None and before != after:
            changes[name] = _round((after - before) * (-1 if name in LOWER_IS_BETTER else 1))
    sides = {"a": _outcome(a), "b": _outcome(b)}
    return Moved(id=case.id, question=case.question, kind=case.kind, gold=case.gold, changes=changes, **sides)


def _outcome(row: Row | None) -> Outcome:
    if row is None:
        return Outcome(error="no outcome")
    same = {name: getattr(row, name) for name in ("answer", "abstained", "citations", "error")}
    return Outcome(retrieved=row.retrieved[:10], **same)


def _sorted(moved: Sequence[Moved], sign: int) -> tuple[Moved, ...]:
    """Those whose changes sum to that sign, the largest first."""
    chosen = [one for one in moved if sum(one.changes.values()) * sign > 0]
    return tuple(sorted(chosen, key=lambda one: (-abs(sum(one.changes.values())), one.id)))


def _note(compared: Sequence[Compared]) -> str:
    told = [one for one in compared if one.verdict != "no evidence of a difference"]
    if told:
        return "; ".join(f"{one.metric} is {one.verdict} ({one.difference:+.3f}, p {one.p:.3f})" for one in told)
    least = ", ".join(f"{one.metric} {one.detectable:.3f}" for one in compared if one.metric in NOTED)
    return f"no evidence of a difference; the smallest that this set would have shown four times in five: {least}"
