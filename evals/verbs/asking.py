"""run, score, why."""

import argparse
from pathlib import Path

from evals import saved, saving, tables
from evals import score as scoring
from evals import why as explaining
from evals.outcome import Outcome
from evals.run import Plan
from rag.settings import Settings


def run(args: argparse.Namespace, settings: Settings) -> Outcome:
    folder = args.save or saving.folder_for(settings, args.set)
    depth = args.k or (saving.DEEP if Path(args.set).is_dir() else 10)
    plan = Plan(
        answers=not args.retrieval,
        depth=depth,
        top_k=settings.top_k,
        concurrency=args.concurrency or settings.search_threads,
        budget=args.budget,
    )
    asked = saving.Asked(
        name=Path(args.set).stem,
        cases=saving.read_set(args.set, queries=args.queries, split=args.split),
        plan=plan,
        keys=saving.keys_of(args.keys),
        allow_missing=args.allow_missing,
        limit=args.limit,
    )
    done, figures = saving.run(settings, asked, folder, fresh=args.fresh)
    taken = scoring.timings(done)
    text = f"{tables.scores(figures)}\n{tables.latencies(taken)}\nsaved in {folder}"
    return Outcome({"folder": str(folder), "scores": figures, "timings": taken}, text)


def score(args: argparse.Namespace, settings: Settings) -> Outcome:
    run = saved.load(args.dir)
    figures = scoring.write(run)
    return Outcome(figures, f"{tables.scores(figures)}\n{tables.latencies(scoring.timings(run))}")


def why(args: argparse.Namespace, settings: Settings) -> Outcome:
    from rag.engine import open_engine

    found = explaining.why(open_engine(settings), args.question, args.paper, settings.top_k)
    return Outcome(found.model_dump(), explaining.readable(found))
