"""Arguments of the verbs of `confab eval`, in groups that verbs share: argument -> options of argparse."""

import argparse
from pathlib import Path
from typing import Any


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


_FORMS = ("ragas", "deepeval", "trec", "outputs")
ARGUMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "set": {
        "set": {"metavar": "SET", "help": "a JSONL set, a BEIR folder, or the name of a set that ships (sample)"},
        "--split": {"default": "test", "help": "of a BEIR folder: qrels/SPLIT.tsv (default: test)"},
        "--queries": {
            "default": "queries.jsonl",
            "metavar": "FILE",
            "help": "of a BEIR folder (queries_ko.jsonl)",
        },
    },
    "keys": {
        "--keys": {"type": Path, "metavar": "FILE", "help": "JSON: gold key -> sha256 of the abstract"},
        "--allow-missing": {"action": "store_true", "help": "gold that the index lacks counts as a miss"},
    },
    "running": {
        "--k": {"type": _positive, "help": "how far rankings are scored (default: 10; BEIR folders 100)"},
        "--limit": {"type": _positive, "metavar": "N", "help": "only the first N questions"},
        "--concurrency": {"type": _positive, "metavar": "N", "help": "questions at a time"},
    },
    "save": {
        "--retrieval": {"action": "store_true", "help": "rankings only, no answers"},
        "--save": {"type": Path, "metavar": "DIR", "help": "where the run goes, or goes on"},
        "--fresh": {"action": "store_true", "help": "run anew what stands there"},
        "--budget": {"type": float, "metavar": "COST", "help": "ask nothing more once answers have cost that"},
        "--keys": {"type": Path, "metavar": "FILE", "help": "JSON: gold key -> sha256 of the abstract"},
        "--allow-missing": {"action": "store_true", "help": "gold that the index lacks counts as a miss"},
    },
    "dir": {"dir": {"type": Path, "metavar": "DIR", "help": "a saved run"}},
    "dirs": {"dirs": {"type": Path, "nargs": "+", "metavar": "DIR", "help": "one saved run, or two"}},
    "a": {"a": {"type": Path, "metavar": "A", "help": "a saved run"}},
    "b": {"b": {"type": Path, "metavar": "B", "help": "another over the same set"}},
    "baseline": {"baseline": {"type": Path, "metavar": "BASELINE", "help": "a saved run, with gate.toml or without"}},
    "ci": {
        "--junit": {"type": Path, "metavar": "FILE", "help": "write the verdict as JUnit XML"},
        "--markdown": {"type": Path, "metavar": "FILE", "help": "write the verdict as Markdown"},
    },
    "html": {"--out": {"type": Path, "metavar": "FILE", "help": "the page (default: report.html in the first run)"}},
    "judge": {
        "--model": {"help": "the judge (default: CONFAB_JUDGE_MODEL)"},
        "--base-url": {"metavar": "URL", "help": "its server (default: CONFAB_JUDGE_BASE_URL)"},
        "--labels": {"type": Path, "metavar": "FILE", "help": "hand labels: JSONL of id, judge, label (0 or 1)"},
        "--concurrency": {"type": _positive, "default": 4, "metavar": "N", "help": "verdicts at a time (default: 4)"},
    },
    "question": {"question": {"metavar": "QUESTION"}},
    "paper": {"paper": {"metavar": "PAPER", "help": "its id"}},
    "draft": {
        "--out": {"type": Path, "required": True, "metavar": "SET", "help": "kept questions are added to it"},
        "--count": {"type": _positive, "default": 20, "metavar": "N", "help": "how many to propose (default: 20)"},
        "--seed": {"type": int, "default": 0, "help": "which papers are drawn"},
        "--keep-all": {"action": "store_true", "help": "keep every proposal that is not flagged, without asking"},
    },
    "feedback": {
        "feedback": {"type": Path, "metavar": "FILE", "help": "JSONL: question, answer_id, helpful, comment, cited"},
        "--out": {"type": Path, "required": True, "metavar": "SET", "help": "cases are added to it"},
    },
    "import": {
        "file": {"type": Path, "metavar": "FILE", "help": "samples, goldens, a run, or a BEIR folder"},
        "--form": {"required": True, "choices": (*_FORMS, "beir"), "help": "outputs: id, answer, citations, ..."},
        "--set": {"type": Path, "metavar": "SET", "help": "the questions that a run (trec, outputs) answers"},
        "--out": {"type": Path, "required": True, "metavar": "PATH", "help": "a set, or the folder of a run"},
    },
    "export": {
        "source": {"type": Path, "metavar": "DIR_OR_SET", "help": "a saved run or a set"},
        "--form": {"required": True, "choices": _FORMS},
        "--out": {"type": Path, "required": True, "metavar": "FILE", "help": "trec: also FILE.qrels"},
    },
    "folder": {
        "folder": {"type": Path, "metavar": "FOLDER", "help": "corpus.jsonl(.gz), queries.jsonl, qrels/"},
        "--split": {"default": "test", "help": "qrels/SPLIT.tsv (default: test)"},
        "--queries": {"default": "queries.jsonl", "metavar": "FILE", "help": "such as queries_ko.jsonl"},
    },
    "bench": {
        "--index": {"type": Path, "metavar": "DIR", "help": "data folder of its index, built where it is missing"},
        "--save": {"type": Path, "metavar": "DIR", "help": "keep the runs, one folder a configuration"},
        "--only": {"action": "append", "metavar": "NAME", "help": "a configuration: words, dense, hybrid, default"},
    },
    "quality": {
        "--shared": {"type": Path, "required": True, "metavar": "PATH", "help": "folder with evals/ and data/"},
        "--indexes": {"type": Path, "metavar": "DIR", "help": "data folders of the indexes, by name of the set"},
        "--save": {"type": Path, "metavar": "DIR", "help": "keep the runs"},
        "--only": {"action": "append", "metavar": "SET", "help": "one of the sets; may be given again"},
        "--limit": {"type": _positive, "metavar": "N", "help": "only the first N questions of each set"},
        "--no-build": {"action": "store_true", "help": "leave out sets whose index is not there"},
    },
}
