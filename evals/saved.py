"""The folder of a run: everything that a figure rests on, so that it can be computed again without any model.

manifest.json    what was run: revision, settings, generation, models, prompts, versions (`evals.manifest`)
cases.jsonl      the questions, gold keys resolved to paper ids
rows.jsonl       what each question brought back (`evals.rows`)
papers.jsonl     texts of the papers that a report shows: id, title, abstract
judgements.jsonl verdicts of LLM judges, where there were any (`evals.judge`)
scores.json      the figures: the same bytes for the same rows
timings.json     latency, tokens, cost: never the same twice, so kept apart
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals import cases as sets
from evals import rows as outcomes
from evals.agreement import Label, labels
from evals.cases import Case
from evals.lines import decoded, lines_of, objects, text_of
from evals.metrics import Measured, measure
from evals.rows import Row
from rag.errors import InputError, NotFound

Text = dict[str, str]
"""title and abstract of a paper."""


@dataclass(frozen=True)
class Saved:
    """A run read back."""

    path: Path
    manifest: dict[str, Any]
    cases: list[Case]
    rows: dict[str, Row]
    judged: dict[str, Measured] = field(default_factory=dict)
    papers: dict[str, Text] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def depth(self) -> int:
        return max((row.depth for row in self.rows.values()), default=0)

    @property
    def answers(self) -> bool:
        return any(row.answer is not None for row in self.rows.values())

    def worth(self) -> list[Measured]:
        return measure(self.cases, self.rows, self.judged)


def load(path: Path) -> Saved:
    """The run saved at `path`. Raises NotFound, InputError."""
    if not (path / "rows.jsonl").is_file() or not (path / "cases.jsonl").is_file():
        raise NotFound(
            f"{path} holds no run (rows.jsonl and cases.jsonl); `confab eval run SET --save {path}` makes one"
        )
    rows = read_rows(path / "rows.jsonl")
    return Saved(
        path=path,
        manifest=read_json(path / "manifest.json") if (path / "manifest.json").is_file() else {},
        cases=sets.read(path / "cases.jsonl"),
        rows={row.id: row for row in rows},
        judged=_judged(path / "judgements.jsonl"),
        papers=_papers(path / "papers.jsonl"),
        labels=read_labels(path / "labels.jsonl") if (path / "labels.jsonl").is_file() else [],
    )


def read_rows(path: Path, *, torn_end: bool = False) -> list[Row]:
    return outcomes.parse(lines_of(path), path.name, torn_end=torn_end)


def read_labels(path: Path) -> list[Label]:
    return labels(lines_of(path), path.name)


def read_json(path: Path) -> dict[str, Any]:
    """An object. Raises InputError."""
    try:
        value = decoded(text_of(path))
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} should hold a JSON object")
    return value


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Same value, same bytes. A NaN would be a bug and raises ValueError."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n", "utf-8")


def write_rows(path: Path, cases: Iterable[Case], rows: Mapping[str, Row]) -> None:
    """Rows in the order of the questions, whatever order they came in; in one step."""
    part = path.with_suffix(".part")
    part.write_text("".join(rows[case.id].line() for case in cases if case.id in rows), "utf-8")
    part.replace(path)


def write_papers(path: Path, papers: Mapping[str, Text]) -> None:
    lines = [json.dumps({"id": key, **papers[key]}, ensure_ascii=False) + "\n" for key in sorted(papers)]
    path.write_text("".join(lines), "utf-8")


def _papers(path: Path) -> dict[str, Text]:
    found = _named(path, "id", "title", "abstract")
    return {value["id"]: {"title": value["title"], "abstract": value["abstract"]} for value in found}


def _judged(path: Path) -> dict[str, Measured]:
    """Question -> judge -> score (None where the judge gave none)."""
    out: dict[str, Measured] = {}
    for value in _named(path, "id", "judge", "score"):
        out.setdefault(value["id"], {})[value["judge"]] = value["score"]
    return out


def _named(path: Path, *names: str) -> Iterator[dict[str, Any]]:
    """Objects that have those fields; none where there is no file. Raises InputError naming the line."""
    for number, value in objects(lines_of(path), path.name) if path.is_file() else ():
        if lost := [name for name in names if name not in value]:
            raise InputError(f"{path.name} line {number}: there is no {', '.join(lost)}; expected {', '.join(names)}")
        yield value
