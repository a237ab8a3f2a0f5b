"""SIGKILL of an ingest at any moment: the old generation is whole and served, and no vector is computed again."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ingest.job import BATCH, ingest
from rag.engine import open_engine
from rag.settings import Settings
from rag.store import Store
from rag.types import Question
from tests.corpus import ROWS, write
from tests.servers import CONFAB, environment

MANY = 90
ADDED = [
    {
        "id": f"new-{n}",
        "abstract": f"Paper {n} counts {n} walruses. It does so on day {n}. Nobody had number {n} before.",
    }
    for n in range(MANY)
]


def embedded(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def kill_when(holds: Callable[[], bool], command: list[str], **environ: str) -> None:
    """Run the command; SIGKILL as soon as `holds()`."""
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + 60
        while not holds():
            assert process.poll() is None, f"it ended before: {process.stderr and process.stderr.read().decode()}"
            assert time.monotonic() < end
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def test_a_killed_ingest_harms_nothing_and_is_carried_on(small: Settings, tmp_path: Path) -> None:
    log, list_ = tmp_path / "embedded", write(tmp_path / "list.jsonl", [*ROWS, *ADDED])
    part = small.data_dir / "generations" / "gen-000002.part"
    texts = len(ADDED) * 4
    assert texts > 2 * BATCH

    def there(name: str) -> Callable[[], bool]:
        return (part / name).exists

    moments = {
        "before the first vector is kept": lambda: len(embedded(log)) > BATCH // 2,
        "in the middle of embedding": lambda: len(embedded(log)) > 2 * BATCH,
        "when vectors are written": there("passages.npy"),
        "when words are indexed": there("words"),
        "when Chroma is filled": there("chroma/chroma.sqlite3"),
        "when it is verified": there("manifest.json"),
    }
    environ = environment(small.data_dir, CONFAB_EMBED_MODEL=small.embed_model, HASHED_LOG=log, HASHED_SECONDS=0.001)
    store = Store(small)
    for moment, holds in moments.items():
        kill_when(holds, [*CONFAB, "ingest", str(list_)], **environ)
        assert (store.current(), store.names()) == ("gen-000001", ["gen-000001"]), moment
        assert store.verify(store.root / "generations" / "gen-000001") == [], moment
        [first, *_] = open_engine(small).hits(Question(text="the ptarmigan from space"))
        assert (first.paper.id, len(store.catalog().digests())) == ("birds", 4), moment

    os.environ["HASHED_LOG"] = str(log)
    try:
        report = ingest([list_], small)
    finally:
        del os.environ["HASHED_LOG"]
    assert (report.generation, report.papers, report.embedded) == ("gen-000002", len(ROWS) + MANY, 0)
    assert not list((small.data_dir / "generations").glob("*.part"))
    twice = sum(times - 1 for times in Counter(embedded(log)).values())
    assert twice <= 2 * BATCH  # what each of the two kills while embedding can cost
    assert store.verify_all("gen-000002") == []
    assert open_engine(small).hits(Question(text="paper 77 counts 77 walruses"))[0].paper.id == "new-77"
