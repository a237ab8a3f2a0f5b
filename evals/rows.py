"""What one question brought back: a line of `rows.jsonl`. Pure.

A line has the keys that the shared scorer reads (`id answer citations abstained retrieved`), so that
either can score the file, and all that a report needs: quotes, figures of the gate, timings, tokens.
"""

import json
from collections.abc import Iterable

from pydantic import Field, ValidationError

from evals.lines import decoded, explain, objects
from rag.errors import InputError
from rag.types import Frozen, Usage


class Quoted(Frozen):
    """A citation as it was shown. `valid`: the quote stands verbatim at its offsets in a retrieved paper's abstract."""

    number: int
    paper: str
    quote: str
    start: int
    end: int
    valid: bool


class Found(Frozen):
    """A retrieved paper with how it was found; `snippet` is its best sentence."""

    paper: str
    title: str | None = None
    score: float = 0.0
    legs: dict[str, int] = Field(default_factory=dict)
    signals: dict[str, float] = Field(default_factory=dict)
    snippet: str | None = None


class Row(Frozen):
    """`answer` is None where only retrieval was asked for: answer metrics are then unscored, not zero.

    `retrieved` holds paper ids, best first, each once; `depth` is how many were asked for. `timings_ms`
    may have retrieve, answer, first_token, total. `error` tells why there is no outcome: it counts as a miss.
    """

    id: str
    retrieved: tuple[str, ...] = ()
    depth: int = 10
    answer: str | None = None
    abstained: bool = False
    citations: tuple[str, ...] = ()
    quotes: tuple[Quoted, ...] = ()
    found: tuple[Found, ...] = ()
    evidence: float | None = None
    dropped: int = 0
    degraded: tuple[str, ...] = ()
    usage: Usage = Usage()
    timings_ms: dict[str, float] = Field(default_factory=dict)
    error: str | None = None

    def line(self) -> str:
        return self.model_dump_json(exclude_defaults=True) + "\n"


def parse(lines: Iterable[str], name: str, *, torn_end: bool = False) -> list[Row]:
    """Rows of a file, the last of each id. `torn_end` forgives a last line cut short by a kill. Raises InputError."""
    texts = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    rows: dict[str, Row] = {}
    for number, text in texts:
        try:
            row = Row.model_validate(decoded(text.removeprefix("\ufeff")))
        except ValueError as error:
            if torn_end and number == texts[-1][0]:
                break
            raise InputError(f"{name} line {number} is no row of a run: {explain(error)}") from None
        rows[row.id] = row
    return list(rows.values())


def outputs(lines: Iterable[str], name: str) -> list[Row]:
    """Rows from the shared scorer's form: id, answer, citations, abstained, retrieved. Raises InputError."""
    out = []
    for number, value in objects(lines, name):
        try:
            ranked = once(map(str, value.get("retrieved") or ()))
            row = Row(
                id=value["id"],
                retrieved=ranked,
                depth=max(10, len(ranked)),
                answer=value.get("answer") or "",
                abstained=bool(value.get("abstained")),
                citations=once(map(str, value.get("citations") or ())),
            )
        except (KeyError, TypeError, ValidationError) as error:
            raise InputError(
                f"{name} line {number}: expected id, answer, citations, abstained, retrieved: {explain(error)}"
            ) from None
        out.append(row)
    return out


def output(row: Row) -> str:
    """A line in that form."""
    value = {
        "id": row.id, "answer": row.answer or "", "citations": row.citations, "abstained": row.abstained,
        "retrieved": row.retrieved,
    }  # fmt: skip
    return json.dumps(value, ensure_ascii=False) + "\n"


def once(ids: Iterable[str]) -> tuple[str, ...]:
    """Ids without repeats, each at its first place (several passages of one paper count once)."""
    return tuple(dict.fromkeys(ids))
