"""Figures of a run: what each question is worth by every metric, and the means over them. Pure.

A question that a metric does not apply to is None there: it is counted as unscored and never taken for
zero. Ranking figures come from ir-measures; the rest agrees with the scorer of the shared question sets
to the third decimal (a test runs both). A question without an outcome counts as a miss in every rate, and
as "did not abstain".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evals import statistics
from evals.cases import Case
from evals.containment import containment
from evals.rows import Row, once

Measured = dict[str, float | None]

RANKING = ("hit@1", "hit@3", "hit@10", "recall@10", "recall@100", "mrr@10", "ndcg@10", "map", "p@10")
ANSWERING = (
    "containment", "groups_met", "forbidden", "citation_precision", "citation_recall", "citation_validity",
    "abstention_precision", "abstention_recall", "false_refusals",
)  # fmt: skip
JUDGED = ("faithfulness", "correctness")
METRICS = (*RANKING, *ANSWERING, *JUDGED)
LOWER_IS_BETTER = frozenset({"forbidden", "false_refusals"})
_IR_NAMES = {
    "hit@1": "Success@1", "hit@3": "Success@3", "hit@10": "Success@10", "recall@10": "R@10", "recall@100": "R@100",
    "mrr@10": "RR@10", "ndcg@10": "nDCG@10", "map": "AP", "p@10": "P@10",
}  # fmt: skip


class Figure(NamedTuple):
    """A metric over some questions: its mean (None of none), how many counted, how many did not, 95 % interval."""

    value: float | None
    n: int
    unscored: int
    low: float | None
    high: float | None


def measure(
    cases: Sequence[Case], rows: Mapping[str, Row], judged: Mapping[str, Measured] | None = None
) -> list[Measured]:
    """Every case's worth by every metric, in the order of `cases`. A run without any answer is retrieval only."""
    answers = any(row.answer is not None for row in rows.values())
    ranked = _ranking(cases, rows)
    out = []
    for case in cases:
        row = rows.get(case.id)
        if row is not None and row.error is not None:
            row = None
        worth: Measured = dict.fromkeys(METRICS)
        worth |= ranked.get(case.id, {})
        if answers:
            worth |= _answering(case, row)
        worth |= (judged or {}).get(case.id, {})
        out.append(worth)
    return out


def _ranking(cases: Sequence[Case], rows: Mapping[str, Row]) -> dict[str, Measured]:
    """Worth of every case that has gold. A list cut before rank k leaves the metrics at k unscored."""
    import ir_measures

    scored = [case for case in cases if case.gold]
    if not scored:
        return {}
    lists = {case.id: _list(case, rows.get(case.id)) for case in scored}
    qrels = {case.id: case.relevance for case in scored}
    run = {key: {paper: float(-place) for place, paper in enumerate(papers)} for key, (papers, _) in lists.items()}
    names = {ir_measures.parse_measure(ir): ours for ours, ir in _IR_NAMES.items()}
    worth: dict[str, Measured] = {case.id: {} for case in scored}
    for found in ir_measures.iter_calc(list(names), qrels, run):
        name = names[found.measure]
        cut = int(name.partition("@")[2] or 0)
        worth[found.query_id][name] = float(found.value) if cut <= lists[found.query_id][1] else None
    return worth


def _list(case: Case, row: Row | None) -> tuple[tuple[str, ...], int]:
    """(ranked papers without those the case leaves out, depth asked for); a missing row is a miss at any depth."""
    if row is None or row.error is not None:
        return (), 10
    return tuple(paper for paper in once(row.retrieved) if paper not in case.exclude), row.depth


def _answering(case: Case, row: Row | None) -> Measured:
    """Worth of the answer. "either" questions count by what was done: an abstention is neither right nor wrong."""
    abstained = row is not None and row.abstained
    free = case.expect == "either" and abstained
    said = containment(row.answer or "" if row else "", case.must_contain, case.must_not_contain)
    answer_counts = case.expect != "abstain" and bool(case.must_contain) and not free
    lost = abstained or row is None
    should = {"abstain": 1.0, "answer": 0.0}.get(case.expect)
    return {
        "containment": (0.0 if lost else float(said.whole)) if answer_counts else None,
        "groups_met": (0.0 if lost else said.share) if answer_counts else None,
        "forbidden": float(bool(said.forbidden)) if case.must_not_contain else None,
        **_citing(case, row, counts=bool(case.gold) and not free),
        "abstention_precision": should if abstained else None,
        "abstention_recall": float(abstained) if should == 1.0 else None,
        "false_refusals": float(abstained) if should == 0.0 else None,
    }


def _citing(case: Case, row: Row | None, counts: bool) -> Measured:
    cited = set(row.citations) if row else set()
    gold = set(case.gold)
    quotes = row.quotes if row else ()
    return {
        "citation_precision": len(cited & (gold | set(case.optional))) / len(cited) if counts and cited else None,
        "citation_recall": len(gold & cited) / len(gold) if counts else None,
        "citation_validity": sum(quote.valid for quote in quotes) / len(quotes) if quotes else None,
    }


def aggregate(cases: Sequence[Case], worth: Sequence[Measured], seed: int = 0) -> dict[str, Figure]:
    """Every metric over these questions, in the order of METRICS, with intervals clustered by paper."""
    numerators, denominators = arrays(worth)
    clusters = [case.cluster for case in cases]
    spread = statistics.intervals(
        statistics.by_cluster(numerators, clusters), statistics.by_cluster(denominators, clusters), seed
    )
    out = {}
    for index, name in enumerate(METRICS):
        n = int(denominators[:, index].sum())
        low, high = spread[index] or (None, None)
        value = float(numerators[:, index].sum()) / n if n else None
        out[name] = Figure(value, n, len(cases) - n, low, high)
    return out


def arrays(worth: Sequence[Measured]) -> tuple[statistics.Figures, statistics.Figures]:
    """(numerators, denominators), float64 [questions, metrics]."""
    table = np.array([[np.nan if one[name] is None else one[name] for name in METRICS] for one in worth], dtype=float)
    counted = ~np.isnan(table)
    return np.where(counted, table, 0.0), counted.astype(float)


def groups(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Name -> places of its questions: all of them, each kind, each language."""
    out: dict[str, list[int]] = {"all": list(range(len(cases)))}
    keys: tuple[tuple[str, Callable[[Case], Any]], ...] = (("kind", lambda c: c.kind), ("lang", lambda c: c.lang))
    for field, key in keys:
        for value in sorted({key(case) for case in cases}):
            out[f"{field}:{value}"] = [place for place, case in enumerate(cases) if key(case) == value]
    return out


class Threshold(NamedTuple):
    """What abstaining below `threshold` of the evidence would have given."""

    threshold: float
    precision: float | None
    recall: float
    false_refusals: float


def threshold_curve(cases: Sequence[Case], rows: Mapping[str, Row], points: int = 200) -> list[Threshold]:
    """Abstention over the threshold on the gate's evidence; empty where no question of either kind has evidence."""
    known = [
        (rows[case.id].evidence, case.expect == "abstain")
        for case in cases
        if case.expect != "either" and case.id in rows and rows[case.id].evidence is not None
    ]
    should = [value for value, abstain in known if abstain and value is not None]
    should_not = [value for value, abstain in known if not abstain and value is not None]
    if not should or not should_not:
        return []
    cuts = sorted({*should, *should_not})
    step = max(1, len(cuts) // points)
    return [_at(cut, should, should_not) for cut in [*cuts[::step], cuts[-1] + 1e-6]]


def _at(cut: float, should: Sequence[float], should_not: Sequence[float]) -> Threshold:
    right, wrong = sum(value < cut for value in should), sum(value < cut for value in should_not)
    precision = right / (right + wrong) if right + wrong else None
    return Threshold(cut, precision, right / len(should), wrong / len(should_not))
