"""bench, quality."""

import argparse

from evals import bench as benching
from evals import quality as measuring
from evals import saving
from evals.outcome import Outcome
from evals.run import Plan
from evals.saving import Asked
from rag.settings import Settings


def bench(args: argparse.Namespace, settings: Settings) -> Outcome:
    names = benching.chosen(args.only)
    name = args.folder.resolve().name
    cases = saving.read_set(str(args.folder), queries=args.queries, split=args.split)
    plan = Plan(
        answers=False,
        depth=args.k or saving.DEEP,
        top_k=settings.top_k,
        concurrency=args.concurrency or settings.search_threads,
    )
    asked = Asked(name, cases, plan, allow_missing=True, limit=args.limit)  # some corpora hold empty records
    index = args.index
    if index is None or not benching.has_index(index):
        index = benching.index_of(args.folder, index or settings.data_dir / "bench")
    found = benching.bench(settings, asked, index, args.save or saving.folder_for(settings, name), names)
    text = f"{name}: {len(cases[: args.limit])} questions, depth {plan.depth}\n\n{benching.table(found)}"
    return Outcome({one.configuration: {"scores": one.figures, "timings": one.timings} for one in found}, text)


def quality(args: argparse.Namespace, settings: Settings) -> Outcome:
    indexes = args.indexes or settings.data_dir / "bench"
    folder = args.save or saving.folder_for(settings, "quality")
    found = measuring.measure(settings, args.shared, indexes, folder, args.only, args.limit, not args.no_build)
    return Outcome(measuring.data(found), measuring.markdown(found))
