"""`confab eval` within the test's own process."""

import argparse
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals import cli
from rag.settings import Settings, load

ROOT = Path(__file__).parents[1]


class Evaluate:
    """Runs verbs over the index of `settings`."""

    def __init__(self, settings: Settings) -> None:
        self.data_dir = settings.data_dir

    def __call__(self, *words: str, environ: Mapping[str, str] | None = None, **given: Any) -> tuple[int, str]:
        """(exit code, what was printed)."""
        parser = argparse.ArgumentParser()
        cli.add_arguments(parser)
        settings = load(environ or {}, None, **({"data_dir": self.data_dir} | given))
        out, before = io.StringIO(), sys.stdout
        sys.stdout = out
        try:
            code = cli.run(parser.parse_args(words), settings)
        finally:
            sys.stdout = before
        return code, out.getvalue()

    def result(self, *words: str, **given: Any) -> Any:
        """What --json prints of a verb that must end well."""
        code, out = self(*words, "--json", **given)
        assert code == 0
        return json.loads(out)
