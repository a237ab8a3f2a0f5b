"""compare, gate, report, judge."""

import argparse

from evals import compare as comparing
from evals import gate as gating
from evals import saved, tables
from evals.outcome import WANTING, Outcome
from rag.errors import UsageError
from rag.settings import Settings


def compare(args: argparse.Namespace, settings: Settings) -> Outcome:
    found = comparing.compare(saved.load(args.a), saved.load(args.b))
    return Outcome(found.model_dump(mode="json"), tables.comparison(found))


def gate(args: argparse.Namespace, settings: Settings) -> Outcome:
    verdict = gating.gate(args.baseline, args.dir)
    told = gating.markdown(verdict)
    for path, text in ((args.junit, gating.junit(verdict)), (args.markdown, told)):
        if path:
            path.write_text(text, "utf-8")
    return Outcome({"passed": verdict.passed, **verdict.model_dump()}, told, 0 if verdict.passed else WANTING)


def report(args: argparse.Namespace, settings: Settings) -> Outcome:
    from evals.report import html

    if len(args.dirs) > 2:
        raise UsageError(f"{len(args.dirs)} runs were given; a report shows one, or two side by side")
    page = html([saved.load(folder) for folder in args.dirs])
    path = args.out or args.dirs[0] / "report.html"
    path.write_text(page, "utf-8")
    size = len(page.encode())
    return Outcome({"file": str(path), "bytes": size}, f"{path} ({size / 1000:.0f} kB); it opens from disk")
