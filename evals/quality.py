"""The README's table: every set, every configuration, each with the command that gives it again."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from evals import bench, saving, score, tables
from evals.bench import Benched
from evals.progress import say
from evals.resolve import keys_file
from evals.run import Plan
from evals.saving import Asked
from rag.errors import InputError, UsageError
from rag.settings import Settings

ANSWERS = (
    "containment", "citation_precision", "citation_recall", "citation_validity", "abstention_precision",
    "abstention_recall", "false_refusals",
)  # fmt: skip


class Source(NamedTuple):
    """A set under the shared folder. `corpus` is its list, None for a BEIR folder; `answers`: also answered."""

    questions: str
    corpus: str | None = None
    keys: str | None = None
    answers: bool = False


SETS = {
    "seed_dev": Source("evals/seed_dev.jsonl", "data/samples/plain_seed.txt", "evals/seed_keys.json", answers=True),
    "icml_dev": Source("evals/icml_dev.jsonl", "data/corpora/icml2026.jsonl.gz", answers=True),
    "scifact": Source("data/benchmarks/scifact"),
    "csfcube": Source("data/benchmarks/csfcube"),
    "scholarqa-multi": Source("data/benchmarks/scholarqa-multi"),
    "iclr2026-zh": Source("data/benchmarks/iclr2026-zh"),
}


class Measured(NamedTuple):
    name: str
    questions: int
    retrieval: list[Benched]
    answers: dict[str, Any] | None
    timings: dict[str, Any] | None
    command: str


def measure(
    settings: Settings, shared: Path, indexes: Path, folder: Path, names: Sequence[str] | None = None,
    limit: int | None = None, build: bool = True,
) -> list[Measured]:  # fmt: skip
    """Every set in turn; those without an index are left out where `build` is false. Raises ConfabError."""
    if unknown := set(names or ()) - set(SETS):
        raise UsageError(f"no set {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    chosen = {name: source for name, source in SETS.items() if not names or name in names}
    _there(chosen.values(), shared)
    out = []
    for name, source in chosen.items():
        index = _index(name, source, shared, indexes, build)
        if index is None:
            say(f"{name} is left out: there is no index in {indexes / name}")
            continue
        out.append(_one(settings, name, source, shared, index, folder / name, limit))
    return out


def _there(sources: Iterable[Source], shared: Path) -> None:
    """Before hours are spent on the first of them. Raises InputError."""
    if not shared.is_dir():
        raise InputError(
            f"{shared} is not there; --shared (SHARED= of make) is the folder with evals/ and data/ that the sets and "
            "their lists are read from"
        )
    for source in sources:
        for part in (source.questions, source.corpus, source.keys):
            if part is not None:
                bench.list_of(shared / part)


def _index(name: str, source: Source, shared: Path, indexes: Path, build: bool) -> Path | None:
    """A folder of the set's name, or of its corpus (several sets may share one)."""
    corpus = bench.list_of(shared / (source.corpus or source.questions))
    names = (name, corpus.name.partition(".")[0])
    there = next((indexes / one for one in names if bench.has_index(indexes / one)), None)
    if there or not build:
        return there
    if source.corpus is None:
        return bench.index_of(corpus, indexes)
    bench.build(corpus, indexes / name)
    return indexes / name


def _one(
    settings: Settings, name: str, source: Source, shared: Path, index: Path, folder: Path, limit: int | None
) -> Measured:
    path = bench.list_of(shared / source.questions)
    depth = saving.DEEP if path.is_dir() else 10
    plan = Plan(answers=False, depth=depth, top_k=settings.top_k, concurrency=settings.search_threads)
    keys = keys_file(shared / source.keys) if source.keys else {}
    asked = Asked(name, saving.read_set(str(path)), plan, keys, allow_missing=source.corpus is None, limit=limit)
    retrieval = bench.bench(settings, asked, index, folder, list(bench.CONFIGURATIONS))
    answers = timings = None
    if source.answers:
        own = settings.model_copy(update={"data_dir": index})
        run, answers = saving.run(own, replace(asked, plan=replace(plan, answers=True)), folder / "answers", fresh=True)
        timings = score.timings(run)
    return Measured(name, len(asked.cases[:limit]), retrieval, answers, timings, f"confab eval quality --only {name}")


def markdown(found: Sequence[Measured]) -> str:
    """Two tables: rankings of every set and configuration, answers of the default."""
    shown = ("hit@1", "hit@3", "hit@10", "recall@10", "mrr@10", "ndcg@10")
    ranked = [
        [one.name if place == 0 else "", str(one.questions) if place == 0 else "", bench.MEANINGS[row.configuration]]
        + [tables.cell(row.value(metric)) for metric in shown]
        for one in found
        for place, row in enumerate(one.retrieval)
    ]
    parts = [tables.table(["set", "n", "configuration", *shown], ranked, left=3)]
    answered = [one for one in found if one.answers is not None]
    if answered:
        rows = [[one.name, str(one.questions), *_answers(one)] for one in answered]
        parts.append(tables.table(["set", "n", *(name.replace("_", " ") for name in ANSWERS), "p50 / p95 ms"], rows))
    commands = ", ".join(f"`{one.command}`" for one in found)
    parts.append(f"Each row by its command, with `--shared PATH`: {commands}.\n")
    return "\n".join(parts)


def _answers(one: Measured) -> list[str]:
    assert one.answers is not None and one.timings is not None
    metrics = one.answers["groups"]["all"]["metrics"]
    took = one.timings["latency_ms"]["total"]
    return [*(tables.cell(metrics[name]["value"]) for name in ANSWERS), f"{took['p50']:.0f} / {took['p95']:.0f}"]


def data(found: Sequence[Measured]) -> list[dict[str, Any]]:
    return [
        {
            "set": one.name,
            "questions": one.questions,
            "retrieval": {row.configuration: row.figures["groups"]["all"]["metrics"] for row in one.retrieval},
            "answers": one.answers["groups"]["all"]["metrics"] if one.answers else None,
            "timings": one.timings,
        }
        for one in found
    ]
