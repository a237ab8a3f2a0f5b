"""What became of every record, for machines (`--report FILE`) and for `--check`."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from ingest.gather import Gathered
from ingest.plan import Plan
from rag.errors import InputError
from rag.types import Frozen

What = Literal["added", "changed", "kept", "repeated", "dropped", "usable", "set aside"]


class Fate(Frozen):
    """One record of a list: where it stands and what happened to it. A dropped paper stands in none."""

    what: What
    id: str | None = None
    title: str | None = None
    source: str | None = None
    where: str | None = None
    reason: str | None = None


def fates(came: Gathered, todo: Plan | None = None) -> tuple[Fate, ...]:
    """In the order of the lists, those set aside last but for the dropped. Without a plan papers are "usable"."""
    out, seen = [], set()
    told: dict[str, What] = {}
    if todo:
        told |= dict.fromkeys(todo.add, "added")
        told |= dict.fromkeys(todo.change, "changed")
    for paper, (source, where) in zip(came.papers, came.places, strict=True):
        what: What = "repeated" if paper.id in seen else told.get(paper.id, "kept") if todo else "usable"
        seen.add(paper.id)
        title = None if paper.title_derived else paper.title
        out.append(Fate(what=what, id=paper.id, title=title, source=source, where=where))
    out += [Fate(what="set aside", **record.model_dump(exclude={"final"})) for record in came.rejected]
    out += [Fate(what="dropped", id=id_) for id_ in (todo.drop if todo else ())]
    return tuple(out)


def write(path: Path, records: tuple[Fate, ...], **about: Any) -> None:
    """JSON: counts, and an object a record. Raises InputError where the file cannot be written."""
    body = {
        **about,
        "counts": dict(Counter(record.what for record in records)),
        "records": [record.model_dump(mode="json", exclude_none=True) for record in records],
    }
    try:
        path.write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"the report cannot be written to {path}: {error.strerror}") from None
