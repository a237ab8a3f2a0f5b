"""import, export."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evals import beir, exchange, rows, saved, saving, score
from evals import cases as sets
from evals.cases import Case
from evals.lines import lines_of
from evals.outcome import Outcome
from evals.progress import say
from evals.rows import Row
from rag.errors import ConfabError, NotFound, UsageError
from rag.settings import Settings


def import_(args: argparse.Namespace, settings: Settings) -> Outcome:
    if args.form in ("trec", "outputs"):
        if args.set is None:
            raise UsageError(f"a run ({args.form}) answers a set; give it with --set")
        figures = _import_run(args.file, args.form, saving.read_set(str(args.set)), args.out)
        return Outcome(
            {"folder": str(args.out), "scores": figures}, f"a run in {args.out}; `confab eval report {args.out}`"
        )
    if args.form == "beir":
        cases = beir.cases(args.file)
    else:
        cases = exchange.read(lines_of(args.file), args.file.name, args.form)
    args.out.write_text(sets.dump(cases), "utf-8")
    return Outcome({"file": str(args.out), "questions": len(cases)}, f"{len(cases)} questions in {args.out}")


def _import_run(path: Path, form: str, cases: Sequence[Case], folder: Path) -> dict[str, Any]:
    """Another system's outcomes as a run, to be scored, compared and shown like our own."""
    lines = lines_of(path)
    found = beir.run_rows(lines, path.name) if form == "trec" else rows.outputs(lines, path.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cases.jsonl").write_text(sets.dump(cases), "utf-8")
    saved.write_json(folder / "manifest.json", {"set": {"name": path.name}, "imported": form})
    saved.write_rows(folder / "rows.jsonl", cases, {row.id: row for row in found})
    return score.write(saved.load(folder))


def export(args: argparse.Namespace, settings: Settings) -> Outcome:
    cases, found, texts = _exported(args.source, settings)
    if args.form == "trec":
        args.out.write_text(beir.run_text(found.values()), "utf-8")
        args.out.with_name(args.out.name + ".qrels").write_text(beir.qrels_text(cases), "utf-8")
    elif args.form == "outputs":
        args.out.write_text("".join(rows.output(row) for row in found.values()), "utf-8")
    else:
        args.out.write_text(exchange.write(cases, found, texts, args.form), "utf-8")
    return Outcome({"file": str(args.out), "questions": len(cases)}, f"{len(cases)} questions in {args.out}")


def _exported(source: Path, settings: Settings) -> tuple[list[Case], dict[str, Row], dict[str, str]]:
    """(questions, outcomes, texts of papers: of the index where there is one, else what the run kept)."""
    if source.is_dir():
        run = saved.load(source)
        cases, found = run.cases, run.rows
        texts = {key: paper["abstract"] for key, paper in run.papers.items()}
    else:
        cases, found, texts = sets.read(source), {}, {}
    wanted = {paper for case in cases for paper in case.gold} | {p for row in found.values() for p in row.retrieved}
    return cases, found, texts | _texts(wanted - set(texts), settings)


def _texts(wanted: set[str], settings: Settings) -> dict[str, str]:
    from rag.engine import open_engine

    try:
        engine = open_engine(settings)
    except ConfabError as error:
        say(f"texts of {len(wanted)} papers are left out: {error.message}")
        return {}
    out = {}
    for key in wanted:
        try:
            out[key] = engine.paper(key).abstract
        except NotFound:
            continue
    return out
