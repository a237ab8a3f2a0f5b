"""Search times of the index in CONFAB_DATA_DIR, in a process of its own: python -m evals.speed_search QUESTIONS.json

Prints one JSON object: seconds to open, milliseconds of each search and of embedding each question, peak memory.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rag.engine import open_engine
from rag.models.embedding import build
from rag.settings import load
from rag.types import Question


def main(questions: Path) -> None:
    settings = load()
    started = time.perf_counter()
    engine = open_engine(settings)
    opened = time.perf_counter() - started
    asked = json.loads(questions.read_text("utf-8"))
    engine.hits(Question(text="warm up"))
    searches = [_milliseconds(partial(engine.hits, Question(text=text))) for text in asked]
    model = build(settings)
    model.question("warm up")
    embeddings = [_milliseconds(partial(model.question, text)) for text in asked]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    out = {"opened": opened, "searches": searches, "embeddings": embeddings, "peak_mib": peak}
    sys.stdout.write(json.dumps(out))


def _milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
