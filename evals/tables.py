"""Figures, comparisons and verdicts as Markdown tables: what a terminal, a README and a pull request show."""

from collections.abc import Mapping, Sequence
from typing import Any

from evals.compare import Comparison, Moved, Outcome
from evals.metrics import METRICS

GROUPED = (
    "hit@1", "hit@3", "recall@10", "ndcg@10", "containment", "citation_precision", "citation_recall",
    "abstention_recall", "false_refusals",
)  # fmt: skip
"""Metrics shown by kind and language; scores.json has all."""


def cell(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table, the first `left` columns to the left, the others to the right."""
    rule = ["---" if place < left else "---:" for place in range(len(head))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def scores(figures: Mapping[str, Any]) -> str:
    """Every metric that was scored: over all questions with its interval, then by kind and language."""
    groups = figures["groups"]
    used = [name for name in METRICS if groups["all"]["metrics"][name]["n"]]
    narrow = [name for name in GROUPED if name in used]
    overall = [[name, *_overall(groups["all"]["metrics"][name])] for name in used]
    by_group = [
        [name, str(group["questions"]), *(cell(group["metrics"][metric]["value"]) for metric in narrow)]
        for name, group in groups.items()
        if name != "all"
    ]
    lost = figures["missing"] + figures["errors"]
    parts = [
        f"{figures['set']['questions']} questions, {figures['mode']}, depth {figures['depth']}"
        + (f"; {lost} WITHOUT AN OUTCOME" if lost else ""),
        table(["metric", "value", "95 %", "scored", "unscored"], overall),
        table(["group", "n", *narrow], by_group),
    ]
    parts += [
        f"judge of {name}: kappa {cell(one['kappa'])} with hand labels, {one['agreed']:.3f} agreed, n {one['n']}"
        for name, one in figures["agreement"].items()
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _overall(figure: Mapping[str, Any]) -> list[str]:
    interval = "" if figure["low"] is None else f"[{figure['low']:.3f}, {figure['high']:.3f}]"
    return [cell(figure["value"]), interval, str(figure["n"]), str(figure["unscored"])]


def latencies(timings: Mapping[str, Any]) -> str:
    """Milliseconds, tokens and cost in one line."""
    taken = [
        f"{name} p50 {one['p50']:.0f} p95 {one['p95']:.0f} ms"
        for name, one in timings["latency_ms"].items()
        if one["n"]
    ]
    tokens = f"{timings['prompt_tokens']} + {timings['completion_tokens']} tokens"
    cost = "cost unknown" if timings["cost"] is None else f"cost {timings['cost']:g}"
    return "; ".join([*taken, f"{timings['concurrency']} at a time", tokens, cost]) + "\n"


def comparison(found: Comparison) -> str:
    """The comparison as a table and two lists."""
    lines = [
        f"A = {found.a}, B = {found.b}: {found.questions} questions in {found.clusters} clusters",
        "",
        "| metric | n | A | B | B - A | 95 % | p (Holm) | could show | |",
        "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- |",
    ]
    lines += [
        f"| {one.metric} | {one.questions} | {one.a:.3f} | {one.b:.3f} | {one.difference:+.3f} "
        f"| [{one.low:+.3f}, {one.high:+.3f}] | {one.p:.3f} | {one.detectable:.3f} | {one.verdict} |"
        for one in found.metrics
    ]
    lines += ["", found.note]
    for title, moved in (("Better", found.better), ("Worse", found.worse)):
        lines += ["", f"{title}: {len(moved)}", *(line for one in moved for line in _told(one))]
    return "\n".join(lines) + "\n"


def _told(one: Moved) -> list[str]:
    changes = ", ".join(f"{name} {change:+.2f}" for name, change in one.changes.items())
    sides = [f"  - {side}: {_said(outcome)}" for side, outcome in (("A", one.a), ("B", one.b))]
    return [f"- {one.id} ({one.kind}) {one.question} [{changes}]", *sides]


def _said(outcome: Outcome) -> str:
    if outcome.error:
        return outcome.error
    first = ", ".join(outcome.retrieved[:3]) or "nothing"
    return f"found {first}" if outcome.answer is None else f"{' '.join(outcome.answer.split())} (found {first})"
