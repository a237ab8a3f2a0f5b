"""`make bench`: ingest rate, memory and search times on a real list, beside a plain LlamaIndex starter in the same run.

    python -m evals.speed LIST.jsonl[.gz] [--papers N] [--questions 200]

Every figure comes from a process of its own, so that peak memory is that of the work alone. The starter is given the
vectors that Confab computed, and Confab is measured with them too ("vectors given"), so that building is compared
with building. Times are of this machine; the ratios hold better.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from rag.settings import Settings, load
from rag.store import Store

Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("list", type=Path, help="a JSONL list with id, title and abstract, gzip or not")
    parser.add_argument("--papers", type=int, help="only the first N papers")
    parser.add_argument("--questions", type=int, default=200, help="titles that are searched for")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(table(measure(args.list, Path(folder), args.papers, args.questions)))  # noqa: T201
    return 0


def measure(source: Path, folder: Path, papers: int | None, questions: int) -> dict[str, Row]:
    rows = _rows(source, papers)
    listed = folder / "papers.jsonl"
    listed.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    step = max(1, len(rows) // questions)
    asked = folder / "questions.json"
    asked.write_text(json.dumps([row["title"] for row in rows[::step]][:questions]), "utf-8")

    fresh = _ingest(listed, folder / "fresh")
    shutil.copytree(folder / "fresh" / "cache", folder / "given" / "cache")
    given = _ingest(listed, folder / "given")
    vectors = _vectors(load(data_dir=folder / "given"), [row["id"] for row in rows], folder / "vectors.npy")
    ours = json.loads(_run([sys.executable, "-m", "evals.speed_search", str(asked)], folder / "given")[0])
    peer_command = [sys.executable, "-m", "evals.peers.starter", str(listed), str(vectors), str(asked)]
    peer = json.loads(_run(peer_command, folder / "given")[0])
    return {"papers": {"n": len(rows)}, "fresh": fresh, "given": given, "ours": ours, "peer": peer}


def _rows(source: Path, papers: int | None) -> list[Row]:
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()][:papers]


def _ingest(listed: Path, data_dir: Path) -> Row:
    started = time.perf_counter()
    _, peak = _run([sys.executable, "-m", "rag.cli", "ingest", str(listed)], data_dir)
    return {"seconds": time.perf_counter() - started, "peak_mib": peak}


def _run(command: list[str], data_dir: Path) -> tuple[str, float]:
    """What a process prints, and its peak memory in MiB."""
    environment = {**os.environ, "CONFAB_DATA_DIR": str(data_dir)}
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, stdout=said, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command[1:3])} ended with exit code {process.returncode}")
        said.seek(0)
        return said.read(), used.ru_maxrss / 1024


def _vectors(settings: Settings, ids: list[str], path: Path) -> Path:
    """The passage vectors of our index in the order of `ids`: what the starter is given."""
    generation = Store(settings).open()
    first = [generation.catalog.row_of(id_) for id_ in ids]
    np.save(path, np.asarray(generation.vectors)[[row for row in first if row is not None]])
    return path


def table(figures: dict[str, Row]) -> str:
    n, fresh, given, ours, peer = (figures[name] for name in ("papers", "fresh", "given", "ours", "peer"))
    rows: list[tuple[str, float, float | None]] = [
        ("ingest with embedding, papers a second", n["n"] / fresh["seconds"], None),
        ("  peak memory, MiB", fresh["peak_mib"], None),
        ("ingest with vectors given, papers a second", n["n"] / given["seconds"], n["n"] / peer["built"]),
        ("  peak memory, MiB", given["peak_mib"], peer["peak_mib"]),
        ("open the index, s", ours["opened"], peer["opened"]),
        ("search p50, ms", _part(ours["searches"], 50), _part(peer["searches"], 50)),
        ("search p95, ms", _part(ours["searches"], 95), _part(peer["searches"], 95)),
        ("  of it embedding the question, p50, ms", _part(ours["embeddings"], 50), None),
        ("serving, peak memory, MiB", ours["peak_mib"], peer["peak_mib"]),
    ]
    head = [f"{n['n']} papers", "", f"{'':46}{'Confab':>10}{'starter':>10}{'ratio':>8}"]
    return "\n".join(head + [_line(*row) for row in rows])


def _part(milliseconds: list[float], percent: float) -> float:
    return float(np.percentile(milliseconds, percent))


def _line(what: str, ours: float, peer: float | None) -> str:
    if peer is None:
        return f"{what:46}{ours:>10.1f}{'':>10}{'':>8}"
    return f"{what:46}{ours:>10.1f}{peer:>10.1f}{ours / peer:>8.2f}"


if __name__ == "__main__":
    sys.exit(main())
