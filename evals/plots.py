"""Plots of a report as SVG texts: the same bytes for the same figures, text left as text."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from evals.saved import Saved

Scored = tuple[str, Mapping[str, Any]]
"""A run's name and its figures (`evals.score.score`)."""

COLOURS = ("#0072B2", "#D55E00")
"""Told apart by colour-blind readers (Okabe and Ito)."""
ANSWERING = ("hit@1", "containment", "citation_recall")
RETRIEVING = ("hit@1", "hit@10", "ndcg@10")


def _figure(width: float, height: float, panels: int = 1) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(1, panels, sharey=True)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.3)
    return figure


def _svg(figure: Any) -> str:
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "confab", "font.size": 9}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = out.getvalue()
    return text[text.index("<svg") :]


def by_group(runs: Sequence[Scored]) -> str:
    """Three metrics for every kind and language, with their intervals; both runs side by side."""
    chosen = ANSWERING if runs[0][1]["mode"] == "answers" else RETRIEVING
    groups = list(runs[0][1]["groups"])[::-1]
    figure = _figure(9.5, 0.7 + 0.26 * len(groups) * max(1, 0.7 * len(runs)), len(chosen))
    for axes, metric in zip(figure.axes, chosen, strict=True):
        for number, (name, scored) in enumerate(runs):
            _bars(
                axes, [scored["groups"].get(group, {}).get("metrics", {}).get(metric) for group in groups], number, name
            )
        axes.set(title=metric, xlim=(0, 1.02), yticks=range(len(groups)), yticklabels=groups)
    if len(runs) > 1:
        figure.axes[-1].legend(loc="lower right", fontsize=7)
    return _svg(figure)


def _bars(axes: Any, figures: Sequence[Mapping[str, Any] | None], number: int, name: str) -> None:
    """Horizontal bars; where nothing was scored there is none."""
    shown = [(place, one) for place, one in enumerate(figures) if one and one["value"] is not None]
    places = [place - 0.34 * number for place, _ in shown]
    values = [one["value"] for _, one in shown]
    reach = [(one["low"], one["high"]) if one["low"] is not None else (one["value"],) * 2 for _, one in shown]
    errors = [
        [max(0.0, value - low) for value, (low, _) in zip(values, reach, strict=True)],
        [max(0.0, high - value) for value, (_, high) in zip(values, reach, strict=True)],
    ]
    axes.barh(
        places, values, 0.32, color=COLOURS[number], label=name, xerr=errors, error_kw={"ecolor": "#777", "lw": 0.8}
    )  # fmt: skip


def thresholds(runs: Sequence[Scored]) -> str | None:
    """What abstaining at another threshold would give; None where no run has evidence."""
    drawn = [(number, run) for number, run in enumerate(runs) if run[1]["threshold_curve"]]
    if not drawn:
        return None
    figure = _figure(6, 3)
    (axes,) = figure.axes
    styles = {"precision": "-", "recall": "--", "false_refusals": ":"}
    for number, (name, scored) in drawn:
        curve = scored["threshold_curve"]
        for what, style in styles.items():
            points = [(point["threshold"], point[what]) for point in curve if point[what] is not None]
            label = f"{what}{f' ({name})' if len(runs) > 1 else ''}"
            axes.plot(*zip(*points, strict=True), style, color=COLOURS[number], label=label, lw=1.4)
    axes.set(xlabel="abstain below this evidence", ylim=(-0.02, 1.02), title="abstention over the threshold")
    axes.legend(fontsize=7)
    return _svg(figure)


def latency(runs: Sequence[Saved]) -> str | None:
    """Share of questions done within so many milliseconds; None where nothing was timed."""
    figure, drawn = _figure(6, 3), False
    (axes,) = figure.axes
    for number, run in enumerate(runs):
        for what, style in {"retrieve": ":", "first_token": "--", "total": "-"}.items():
            taken = sorted(row.timings_ms[what] for row in run.rows.values() if what in row.timings_ms)
            if taken:
                label = f"{what}{f' ({run.name})' if len(runs) > 1 else ''}"
                shares = [(place + 1) / len(taken) for place in range(len(taken))]
                axes.step(taken, shares, style, where="post", color=COLOURS[number], label=label, lw=1.4)
                drawn = True
    if not drawn:
        return None
    axes.set(xlabel="milliseconds", xscale="log", ylim=(0, 1.02), title="share of questions done within")
    axes.legend(fontsize=7)
    return _svg(figure)
