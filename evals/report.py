"""A run, or two side by side, as one HTML file that opens from disk without a network.

Everything is inside: styles, a short script for sorting, plots as SVG. The page's own policy forbids any
load (``default-src 'none'``). At most LIMIT bytes: where a run is larger, less of each question is shown,
that of failures last.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evals import plots
from evals.cases import Case
from evals.compare import compare
from evals.containment import contains, normalise, unmarked
from evals.metrics import METRICS, Measured
from evals.rows import Quoted, Row
from evals.saved import Saved
from evals.score import score, timings
from rag.errors import Internal

LIMIT = 2_000_000
COLUMNS = ("hit@1", "recall@10", "containment", "citation_precision", "citation_recall")


class Detail(NamedTuple):
    """How much is shown: retrieved papers, characters round a quote (None: the whole abstract), of which questions."""

    retrieved: int
    context: int | None
    snippets: bool
    passing: bool
    questions: int


DETAILS = (
    Detail(10, None, True, True, 100_000),
    Detail(5, 300, True, True, 100_000),
    Detail(5, 150, False, True, 100_000),
    Detail(5, 150, False, False, 100_000),
    Detail(3, 100, False, False, 1_500),
    Detail(3, 60, False, False, 300),
)


def html(runs: Sequence[Saved]) -> str:
    """The page of one run, or of two over the same questions. Raises UsageError where they differ."""
    common = _common(runs)
    for detail in DETAILS:
        page: str = _template().render(questions=_questions(runs, detail), **common)
        if len(page.encode()) <= LIMIT:
            return page
    raise Internal(f"the report has more than {LIMIT} bytes even with the least detail")


def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("evals", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def _common(runs: Sequence[Saved]) -> dict[str, Any]:
    from markupsafe import Markup

    scored = [(run.name, score(run)) for run in runs]
    drawn = (plots.by_group(scored), plots.thresholds(scored), plots.latency(runs))
    used = [name for name in METRICS if any(one["groups"]["all"]["metrics"][name]["n"] for _, one in scored)]
    return {
        "title": " against ".join(run.name for run in runs),
        "runs": runs,
        "scored": [one for _, one in scored],
        "timings": [timings(run) for run in runs],
        "metrics": used,
        "columns": [name for name in COLUMNS if name in used],
        "comparison": compare(runs[0], runs[1]) if len(runs) == 2 else None,
        "plots": [Markup(plot) for plot in drawn if plot],  # noqa: S704 (our own SVG; matplotlib escapes the names)
    }


def _questions(runs: Sequence[Saved], detail: Detail) -> dict[str, Any]:
    """Failures first, then in the order of the set."""
    worths = [run.worth() for run in runs]
    entries = []
    for place, case in enumerate(runs[0].cases):
        sides = [_side(case, run, worth[place], detail) for run, worth in zip(runs, worths, strict=True)]
        failed = any(side["failures"] for side in sides)
        order = {name: _order([side["worth"][name] for side in sides]) for name in COLUMNS}
        shown = failed or detail.passing
        entries.append({"case": case, "place": place, "sides": sides, "failed": failed, "open": shown, "order": order})
    entries.sort(key=lambda entry: (not entry["failed"], entry["place"]))
    return {"shown": entries[: detail.questions], "left_out": max(0, len(entries) - detail.questions)}


def _order(values: Sequence[float | None]) -> float:
    """What a column is sorted by: the value of one run, the change between two; what was not scored comes first."""
    known = [value for value in values if value is not None]
    return known[-1] - (known[0] if len(values) > 1 else 0.0) if len(known) == len(values) else -9.0


def _side(case: Case, run: Saved, worth: Measured, detail: Detail) -> dict[str, Any]:
    """What one run did with one question, ready to be shown."""
    row = run.rows.get(case.id)
    return {
        "row": row,
        "worth": worth,
        "failures": failures(case, row, worth),
        "groups": _groups(case, row),
        "found": [
            {
                "rank": rank,
                "one": one,
                "gold": one.paper in case.gold,
                "snippet": one.snippet if detail.snippets else None,
            }
            for rank, one in enumerate(row.found[: detail.retrieved] if row else (), 1)
        ],
        "evidence": _evidence(row.quotes if row else (), run.papers, detail.context),
        "missed": [key for key in case.gold if row is None or key not in row.retrieved],
    }


def failures(case: Case, row: Row | None, worth: Mapping[str, float | None]) -> list[str]:
    """What is wrong with an outcome, in words."""
    if row is None or row.error is not None:
        return [row.error if row and row.error else "no outcome"]
    told = {
        "hit@10": "gold not in the first ten",
        "containment": "the answer lacks what it must contain",
        "abstention_recall": "should have abstained",
    }
    out = [text for name, text in told.items() if worth[name] == 0.0]
    out += ["should not have abstained"] if worth["false_refusals"] == 1.0 else []
    out += ["says what is forbidden"] if worth["forbidden"] == 1.0 else []
    for name in ("citation_recall", "citation_precision", "citation_validity"):
        value = worth[name]
        out += [f"{name.replace('_', ' ')} {value:.2f}"] if value is not None and value < 1 else []
    return out


def _groups(case: Case, row: Row | None) -> list[dict[str, Any]]:
    said = normalise(unmarked(row.answer or "")) if row else ""
    return [{"wanted": group, "met": any(contains(said, choice) for choice in group)} for group in case.must_contain]


def _evidence(
    quotes: Iterable[Quoted], papers: Mapping[str, Mapping[str, str]], context: int | None
) -> list[dict[str, Any]]:
    """Each cited paper once: its abstract in pieces, those quoted marked."""
    by_paper: dict[str, list[Quoted]] = {}
    for quote in quotes:
        by_paper.setdefault(quote.paper, []).append(quote)
    return [
        {
            "paper": key,
            "title": papers.get(key, {}).get("title", ""),
            "numbers": sorted({quote.number for quote in cited}),
            "invalid": [quote.quote for quote in cited if not quote.valid],
            "pieces": pieces(papers.get(key, {}).get("abstract", ""), cited, context),
        }
        for key, cited in by_paper.items()
    ]


def pieces(abstract: str, quotes: Sequence[Quoted], context: int | None = None) -> list[tuple[str, bool]]:
    """The abstract as (text, quoted?) pieces; with `context`, only that many characters round the quotes."""
    marked = [False] * len(abstract)
    near = [context is None] * len(abstract)
    for quote in quotes:
        if quote.valid:
            marked[quote.start : quote.end] = [True] * len(abstract[quote.start : quote.end])
            if context is not None:
                left, right = max(0, quote.start - context), min(len(abstract), quote.end + context)
                near[left:right] = [True] * (right - left)
    out: list[tuple[str, bool]] = []
    start = 0
    for end in range(1, len(abstract) + 1):
        if end == len(abstract) or (marked[end], near[end]) != (marked[start], near[start]):
            out.append((abstract[start:end] if near[start] else " … ", marked[start]))
            start = end
    return out
