"""`confab ingest`: paper lists into the index."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag.errors import InputError, UsageError
from rag.settings import Settings
from rag.store import Store, current_name

if TYPE_CHECKING:
    from ingest.job import Progress, Report
    from ingest.record import Reading, Rejected

SHOWN = 10
"""Records set aside that are named in the summary; --json and --report list them all."""
FIELDS = ("id", "title", "abstract", "authors", "year", "venue", "url", "topic")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH",
        help="a list: text, JSON, JSONL, CSV, TSV, BibTeX, RIS and others, gzip or not; - is standard input",
    )  # fmt: skip
    parser.add_argument(
        "--format", metavar="NAME", help="the form of the lists, where it is not found by their content"
    )
    parser.add_argument(
        "--map", action="append", default=[], metavar="FIELD=NAME",
        help=f"what the list calls a field ({', '.join(FIELDS)}), such as title=Titel; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true", help="read the lists and say what is in them; no index is touched"
    )
    parser.add_argument("--sync", action="store_true", help="also drop the papers that the lists no longer name")
    parser.add_argument("--keep-title-only", action="store_true", help="keep papers that have a title and no abstract")
    parser.add_argument(
        "--rebuild", action="store_true", help="make the whole index again, with the model that is set now"
    )
    parser.add_argument("--if-empty", action="store_true", help="do nothing where there is an index already")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--lenient", action="store_true", help="exit with 0 although some records were not usable")
    parser.add_argument("--json", action="store_true", help="machine-readable report")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write what happened to every record, as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    if not args.paths and (args.check or not args.rebuild):
        raise UsageError("no list was given; expected `confab ingest PATH...` (or --rebuild alone)")
    if args.if_empty and not args.check and (current := current_name(settings.data_dir)):
        print(f'{{"generation": "{current}"}}' if args.json else f"{current} is there already; nothing to do.")
        return 0
    how = _reading(args.format, args.map, args.keep_title_only)
    if args.check:
        return _check(args, how)
    Store(settings).refuse_if_busy()
    from ingest.job import ingest  # takes a second to load

    with _progress() as progress:
        report = ingest(
            args.paths,
            settings,
            how=how,
            sync=args.sync,
            lenient=args.lenient,
            rebuild=args.rebuild,
            dry_run=args.dry_run,
            progress=progress,
        )
    if args.report:
        from ingest import report as reports

        reports.write(args.report, report.records, generation=report.generation, written=report.written)
    print(report.model_dump_json(indent=2) if args.json else _readable(report, args.dry_run))
    return InputError.exit_code if report.rejected and not args.lenient else 0


def _reading(form: str | None, maps: Sequence[str], keep_title_only: bool) -> "Reading":
    from ingest.read.source import forms
    from ingest.record import Reading

    if form is not None and form not in forms():
        raise UsageError(f"there is no form {form!r}; --format knows {', '.join(forms())}")
    mapping = {}
    for pair in maps:
        field, given, name = pair.partition("=")
        if field not in FIELDS or not given or not name:
            raise UsageError(f"--map {pair!r} is not FIELD=NAME with a field of {', '.join(FIELDS)}")
        mapping[field] = name
    return Reading(form=form, mapping=mapping, keep_title_only=keep_title_only)


def _check(args: argparse.Namespace, how: "Reading") -> int:
    """What is in the lists, without an index."""
    from ingest import report as reports
    from ingest.gather import gather

    came = gather(args.paths, how)
    records = reports.fates(came)
    if args.report:
        reports.write(args.report, records)
    if args.json:
        counts = Counter(record.what for record in records)
        aside = [rejected.model_dump_json() for rejected in came.rejected]
        usable = counts["usable"] + counts["repeated"]
        print(f'{{"read": {came.read}, "usable": {usable}, "rejected": [{", ".join(aside)}]}}')
    else:
        print("\n".join([f"{came.read} records read: {len(came.papers)} usable.", *_aside(came.rejected)]))
    return InputError.exit_code if not came.papers or (came.rejected and not args.lenient) else 0


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


def _aside(rejected: Sequence["Rejected"]) -> list[str]:
    """The first records that were set aside, and how many more there are."""
    lines = [f"  set aside: {r.source}, {r.where}: {r.reason}" for r in rejected[:SHOWN]]
    if len(rejected) > SHOWN:
        lines.append(f"  ... and {len(rejected) - SHOWN} more set aside (--json and --report list them)")
    return lines


def _readable(report: "Report", dry_run: bool) -> str:
    counts = f"{report.added} added, {report.changed} changed, {report.kept} kept, {report.dropped} dropped"
    lines = [
        f"{report.read} records read: {counts}" + (f", {report.repeated} repeated" if report.repeated else "") + "."
    ]
    lines += _aside(report.rejected)
    if report.held:
        lines.append(
            f"  {report.held} papers that the lists no longer name were kept, because a record without an id could not "
            "be read; mend the list, or drop them with --lenient"
        )
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
