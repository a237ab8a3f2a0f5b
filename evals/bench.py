"""Retrieval configurations side by side on one set: words alone, vectors alone, both, and the default.

The index over a benchmark's own corpus stands in a data folder of its own. It is built by `confab ingest` in
a process of its own (evals stands on rag alone), and taken as it is where it is there already.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from evals import beir, saving, score, tables
from evals.progress import say
from evals.saving import Asked
from rag.errors import ConfabError, InputError, UsageError
from rag.settings import Settings

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "words": {"legs": "lexical", "sentence_stage": False},
    "dense": {"legs": "dense", "sentence_stage": False},
    "hybrid": {"legs": "hybrid", "sentence_stage": False},
    "default": {},
}
"""Name -> settings that differ from those given; "default" is the service as it is."""
MEANINGS = {
    "words": "BM25 alone",
    "dense": "dense alone",
    "hybrid": "hybrid",
    "default": "default (hybrid + sentences)",
}
SHOWN = ("hit@1", "hit@3", "hit@10", "recall@10", "recall@100", "mrr@10", "ndcg@10", "p@10")


class Benched(NamedTuple):
    configuration: str
    figures: dict[str, Any]
    timings: dict[str, Any]

    def value(self, metric: str) -> float | None:
        value: float | None = self.figures["groups"]["all"]["metrics"][metric]["value"]
        return value


def chosen(names: Sequence[str] | None) -> list[str]:
    """Configurations by name, all without any. Raises UsageError."""
    unknown = set(names or ()) - set(CONFIGURATIONS)
    if unknown:
        raise UsageError(f"no configuration {', '.join(sorted(unknown))}; there are {', '.join(CONFIGURATIONS)}")
    return [name for name in CONFIGURATIONS if not names or name in names]


def bench(settings: Settings, asked: Asked, index: Path, folder: Path, names: Sequence[str]) -> list[Benched]:
    """Rankings of each configuration over the index, each saved in a folder of its own under `folder`."""
    out = []
    for name in names:
        own = settings.model_copy(update={"data_dir": index, **CONFIGURATIONS[name]})
        run, figures = saving.run(own, replace(asked, name=f"{asked.name} {name}"), folder / name, fresh=True)
        out.append(Benched(name, figures, score.timings(run)))
    return out


def has_index(data_dir: Path) -> bool:
    return (data_dir / "CURRENT").is_file()


def build(source: Path, data_dir: Path) -> None:
    """An index over one list, in a child process whose progress goes to stderr. Raises ConfabError."""
    say(f"building the index of {source.name} in {data_dir}; this is done once, and can be stopped and taken up again")
    command = [sys.executable, "-m", "rag.cli", "ingest", "--sync", "--lenient", str(source)]
    environment = {**os.environ, "CONFAB_DATA_DIR": str(data_dir)}  # handed on, not read
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    if done.returncode or not has_index(data_dir):
        raise ConfabError(f"`confab ingest {source}` ended with {done.returncode}; its last words are above")


def index_of(folder: Path, home: Path) -> Path:
    """The data folder of a BEIR folder's corpus under `home`, built where it is missing."""
    corpus = beir.corpus_file(folder)
    digest = hashlib.sha256(corpus.read_bytes()).hexdigest()[:8]
    data_dir = home / f"{folder.resolve().name}-{digest}"
    if not has_index(data_dir):
        data_dir.mkdir(parents=True, exist_ok=True)
        source = data_dir / "corpus.jsonl"
        source.write_text(beir.ingestible(folder), "utf-8")
        build(source, data_dir)
    return data_dir


def table(found: Sequence[Benched]) -> str:
    """A row a configuration; metrics that none scored are left out."""
    used = [name for name in SHOWN if any(one.value(name) is not None for one in found)]
    rows = [
        [MEANINGS[one.configuration], *(tables.cell(one.value(name)) for name in used), _latency(one)] for one in found
    ]
    return tables.table(["configuration", *used, "p50 / p95 ms"], rows)


def _latency(one: Benched) -> str:
    took = one.timings["latency_ms"]["retrieve"]
    return f"{took['p50']:.0f} / {took['p95']:.0f}" if took["n"] else ""


def list_of(path: Path) -> Path:
    """A list that is there. Raises InputError."""
    if not path.exists():
        raise InputError(f"{path} is not there; --shared is the folder that holds evals/ and data/")
    return path
