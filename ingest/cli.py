"""`confab ingest`: paper lists into the index."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag.errors import InputError, UsageError
from rag.settings import Settings
from rag.store import current_name

if TYPE_CHECKING:
    from ingest.job import Progress, Report

SHOWN = 10
"""Rejected records named in the summary; --json lists them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a list: plain text or JSONL, gzip or not")
    parser.add_argument("--sync", action="store_true", help="also drop the papers that the lists no longer name")
    parser.add_argument(
        "--rebuild", action="store_true", help="make the whole index again, with the model that is set now"
    )
    parser.add_argument("--if-empty", action="store_true", help="do nothing where there is an index already")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--lenient", action="store_true", help="exit with 0 although some records were not usable")
    parser.add_argument("--json", action="store_true", help="machine-readable report")


def run(args: argparse.Namespace, settings: Settings) -> int:
    if not args.paths and not args.rebuild:
        raise UsageError("no list was given; expected `confab ingest PATH...` (or --rebuild alone)")
    if args.if_empty and (current := current_name(settings.data_dir)):
        print(f'{{"generation": "{current}"}}' if args.json else f"{current} is there already; nothing to do.")
        return 0
    from ingest.job import ingest  # takes a second to load

    with _progress() as progress:
        report = ingest(
            args.paths,
            settings,
            sync=args.sync,
            lenient=args.lenient,
            rebuild=args.rebuild,
            dry_run=args.dry_run,
            progress=progress,
        )
    print(report.model_dump_json(indent=2) if args.json else _readable(report, args.dry_run))
    return InputError.exit_code if report.rejected and not args.lenient else 0


@contextmanager
def _progress() -> Iterator["Progress"]:
    """A bar on a terminal; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks = {}

        def show(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done, total=of)

        yield show


def _readable(report: "Report", dry_run: bool) -> str:
    counts = f"{report.added} added, {report.changed} changed, {report.kept} kept, {report.dropped} dropped"
    lines = [
        f"{report.read} records read: {counts}" + (f", {report.repeated} repeated" if report.repeated else "") + "."
    ]
    lines += [f"  set aside: {r.source}, {r.where}: {r.reason}" for r in report.rejected[:SHOWN]]
    if report.held:
        lines.append(
            f"  {report.held} papers that the lists no longer name were kept, because a record without an id could not "
            "be read; mend the list, or drop them with --lenient"
        )
    if len(report.rejected) > SHOWN:
        lines.append(f"  ... and {len(report.rejected) - SHOWN} more set aside (--json lists them)")
    if dry_run:
        lines.append("Nothing was changed (--dry-run).")
    elif report.written:
        lines.append(
            f"{report.generation} is served now: {report.papers} papers, {report.embedded} texts embedded, "
            f"{report.seconds:.1f} s."
        )
    else:
        lines.append(f"Nothing new; {report.generation} stays.")
    return "\n".join(lines)
