"""compare, gate, report, judge."""

import argparse
import asyncio
import shutil
from typing import TYPE_CHECKING

from evals import compare as comparing
from evals import gate as gating
from evals import saved, score, tables
from evals.outcome import WANTING, Outcome
from evals.progress import bar
from evals.saved import Saved
from rag.errors import UsageError
from rag.settings import Settings

if TYPE_CHECKING:
    from evals.judge import Cache, Judgement
    from rag.models.chat import ChatModel


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


def judge(args: argparse.Namespace, settings: Settings) -> Outcome:
    from evals import judge as judging

    run = saved.load(args.dir)
    if args.labels:
        shutil.copyfile(args.labels, run.path / "labels.jsonl")
    model = judging.model_of(settings, args.model, args.base_url)
    cache = judging.Cache(settings.data_dir / "cache" / "judge.sqlite")
    try:
        found = asyncio.run(_judge(run, model, cache, args.concurrency))
    finally:
        cache.close()
    (run.path / "judgements.jsonl").write_text(judging.text(found), "utf-8")
    figures = score.write(saved.load(args.dir))
    return Outcome({"judgements": [one.model_dump() for one in found], "scores": figures}, tables.scores(figures))


async def _judge(run: Saved, model: "ChatModel", cache: "Cache", concurrency: int) -> "list[Judgement]":
    from evals.judge import asked, judge

    total = sum(len(asked(case, run.rows.get(case.id), run.papers)) for case in run.cases)
    try:
        with bar("judging", total) as step:
            return await judge(run, model, cache, concurrency, step)
    finally:
        await model.aclose()
