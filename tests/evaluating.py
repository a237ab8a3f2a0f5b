"""`confab eval` within the test's own process, over one index of the list that ships, made once."""

import argparse
import atexit
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evals import cli
from rag.settings import Settings, load
from tests.servers import confab

ROOT = Path(__file__).parents[1]


@cache
def sample_index() -> Path:
    """The data folder. Tests leave the index as it is."""
    folder = Path(tempfile.mkdtemp(prefix="confab-evals-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    done = confab("ingest", str(ROOT / "ingest/lists/icml2026_sample.txt"), data_dir=folder / "data")
    assert done.returncode == 0, done.stderr
    return folder / "data"


def evaluate(*words: str, environ: Mapping[str, str] | None = None, **given: Any) -> tuple[int, str]:
    """(exit code, what was printed) of one `confab eval`."""
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    settings: Settings = load(environ or {}, None, data_dir=sample_index(), **given)
    out, before = io.StringIO(), sys.stdout
    sys.stdout = out
    try:
        code = cli.run(parser.parse_args(words), settings)
    finally:
        sys.stdout = before
    return code, out.getvalue()


def evaluated(*words: str, **given: Any) -> Any:
    """The result of a verb that must end well."""
    code, out = evaluate(*words, "--json", **given)
    assert code == 0
    return json.loads(out)
