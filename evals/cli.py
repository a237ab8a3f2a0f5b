"""`confab eval`: one table verb -> room, loaded when called. Rooms give an Outcome; only this one prints.

Exit codes: 0 done; 5 a gate failed or a set was found wanting; the rest as everywhere (`confab --help`).
"""

import argparse
import importlib
import json
from typing import NamedTuple

from evals.arguments import ARGUMENTS
from evals.outcome import Outcome
from rag.errors import SettingsError
from rag.settings import Settings

EXTRA = ("ir_measures", "pytrec_eval", "scipy", "jinja2", "matplotlib")
"""Packages of the extra `evals`, which an installation for serving does without."""


class Verb(NamedTuple):
    """`room` has ``NAME(args, settings) -> Outcome`` for the verb's name, dashes as underscores."""

    room: str
    help: str
    arguments: tuple[str, ...]


VERBS = {
    "run": Verb("asking", "ask every question of a set and score the outcomes", ("set", "running", "save")),
    "score": Verb("asking", "compute all figures of a saved run again, without any model", ("dir",)),
    "why": Verb("asking", "at which stage a paper was lost for a question", ("question", "paper")),
    "compare": Verb("judging", "what differs between two runs, and whether that is more than luck", ("a", "b")),
    "gate": Verb("judging", "fail (exit code 5) where a run is worse than allowed", ("baseline", "dir", "ci")),
    "report": Verb("judging", "one HTML file of a run, or of two side by side", ("dirs", "html")),
    "judge": Verb("judging", "have an LLM judge the answers of a saved run", ("dir", "judge")),
    "check": Verb("making", "validate a set against the index", ("set", "keys")),
    "draft": Verb("making", "propose questions from the corpus, to keep or drop", ("draft",)),
    "from-feedback": Verb("making", "turn judged answers into cases", ("feedback",)),
    "import": Verb("trading", "read a set or a run of ragas, deepeval, TREC or a BEIR folder", ("import",)),
    "export": Verb("trading", "write a set or a run for ragas, deepeval or TREC", ("export",)),
    "bench": Verb("benches", "retrieval configurations on a BEIR folder", ("folder", "running", "bench")),
    "quality": Verb("benches", "the README's table of figures", ("quality",)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, verb in VERBS.items():
        sub = verbs.add_parser(name, help=verb.help, description=f"{verb.help[0].upper()}{verb.help[1:]}.")
        for group in verb.arguments:
            for flag, options in ARGUMENTS[group].items():
                sub.add_argument(flag, **options)
        sub.add_argument("--json", action="store_true", help="machine-readable result")


def run(args: argparse.Namespace, settings: Settings) -> int:
    verb = VERBS[args.verb]
    room = importlib.import_module(f"evals.verbs.{verb.room}")
    try:
        outcome: Outcome = getattr(room, args.verb.replace("-", "_").replace("import", "import_"))(args, settings)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise SettingsError(
            f"`confab eval` needs {error.name}; install it with `pip install 'confab[evals]'`"
        ) from None
    if args.json:
        print(json.dumps(outcome.data, ensure_ascii=False, indent=1, allow_nan=False))
    elif outcome.text:
        print(outcome.text.rstrip("\n"))
    return outcome.code
