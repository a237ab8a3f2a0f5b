"""Every command of docs/evals.md works as it stands there."""

import shlex
from pathlib import Path

from evals import cli
from evals.metrics import METRICS, RANKING
from rag.settings import Settings
from tests.evaluating import ROOT, Evaluate
from tests.readme import commands

TEXT = (ROOT / "docs" / "evals.md").read_text("utf-8")


def test_every_command_of_the_page_works(sample: Settings, tmp_path: Path) -> None:
    for command in commands(TEXT):
        moved = command.replace("out/", f"{tmp_path}/").replace("evals/sets/sample_baseline", f"{tmp_path}/baseline")
        words = shlex.split(moved)
        environ = dict(word.split("=", 1) for word in words if word.startswith("CONFAB_"))
        run = words[len(environ) :]
        assert run[:2] == ["confab", "eval"]
        code, told = Evaluate(sample)(*run[2:], environ=environ)
        assert code == 0 or (code == 5 and run[2] == "gate"), (command, told)
    assert (tmp_path / "both.html").is_file()


def test_the_page_names_every_verb_and_every_metric() -> None:
    assert [verb for verb in cli.VERBS if f"`{verb}" not in TEXT and f"confab eval {verb}" not in TEXT] == []
    told = TEXT.replace("hit@k", "hit@1 hit@3 hit@10").replace("recall@k", "recall@10 recall@100")
    assert [name for name in METRICS if name not in told] == [] and set(RANKING) <= set(METRICS)
