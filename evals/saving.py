"""A run from a set to its saved figures: what `run`, `bench` and `quality` share."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals import beir, resolve, saved, score
from evals import cases as sets
from evals import run as running
from evals.cases import Case
from evals.manifest import manifest, refuse_other
from evals.progress import bar, say
from evals.resolve import resolve as resolved
from evals.run import Engine, Plan
from evals.saved import Saved
from rag.errors import NotFound
from rag.settings import Settings

SHIPPED = Path(__file__).parent / "sets"
DEEP = 100
"""Depth for retrieval benchmarks: recall@100 is their custom."""


@dataclass(frozen=True)
class Asked:
    """A set to be run."""

    name: str
    cases: Sequence[Case]
    plan: Plan
    keys: dict[str, str] = field(default_factory=dict)
    allow_missing: bool = False
    limit: int | None = None


def read_set(name: str, *, queries: str = "queries.jsonl", split: str = "test") -> list[Case]:
    """Cases of a JSONL file, a BEIR folder, or a set that ships. Raises NotFound, InputError."""
    path = Path(name)
    if path.is_dir():
        return beir.cases(path, queries=queries, split=split)
    if not path.is_file():
        shipped = SHIPPED / f"{name}.jsonl"
        if not shipped.is_file():
            there = ", ".join(sorted(one.stem for one in SHIPPED.glob("*.jsonl"))) or "none"
            raise NotFound(f"there is no set {name!r}: no such file or folder, and the sets that ship are: {there}")
        path = shipped
    return sets.read(path)


def run(settings: Settings, asked: Asked, folder: Path, *, fresh: bool = False) -> tuple[Saved, dict[str, Any]]:
    """Open the engine, ask what is missing in `folder`, score it. Raises ConfabError."""
    from rag.engine import open_engine

    engine = open_engine(settings)
    try:
        cases, missing = resolved(asked.cases, engine, asked.keys, allow_missing=asked.allow_missing)
        if missing:
            say(f"{len(missing)} papers that the set names are not in the index: {', '.join(missing[:8])}")
        more = {"limit": asked.limit, "seed": score.SEED, "started": _now()}
        about = manifest(asked.name, cases, asked.plan, settings, engine, **more)
        _prepare(folder, about, fresh)
        asking = cases[: asked.limit]
        (folder / "cases.jsonl").write_text(sets.dump(asking), "utf-8")
        saved.write_json(folder / "manifest.json", about)
        asyncio.run(_ask(engine, asking, asked, folder))
    finally:
        with suppress(RuntimeError):
            asyncio.run(engine.aclose())
    saved.write_json(folder / "manifest.json", about | {"finished": _now()})
    done = saved.load(folder)
    return done, score.write(done)


async def _ask(engine: Engine, cases: Sequence[Case], asked: Asked, folder: Path) -> None:
    with bar(asked.name, len(cases)) as step:
        count = await running.run(engine, cases, asked.plan, folder, lambda _: step())
    if count < len(cases):
        say(f"{count} questions asked now, {len(cases) - count} not (they stand there already, or the budget is spent)")


def _prepare(folder: Path, about: dict[str, Any], fresh: bool) -> None:
    """An empty folder, or one with a run of the same; figures of before are never left standing."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "manifest.json").is_file() and not fresh:
        refuse_other(saved.read_json(folder / "manifest.json"), about, folder)
    stale = ["scores.json", "timings.json", *(("rows.jsonl", "judgements.jsonl") if fresh else ())]
    for name in stale:
        (folder / name).unlink(missing_ok=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def folder_for(settings: Settings, name: str) -> Path:
    """Where a run goes that was given no folder."""
    return settings.data_dir / "evals" / f"{Path(name).stem}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def keys_of(path: Path | None) -> dict[str, str]:
    return resolve.keys_file(path) if path else {}
