"""`confab eval` on the real engine over the list that ships: every verb, its exit code, its result."""

import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evals import cases as sets
from evals import cli, saved
from rag.errors import ConfabError, NotFound, UsageError
from rag.settings import Settings
from rag.text import query_words, sentences
from tests.evaluating import ROOT, Evaluate
from tests.fake_models import sources
from tests.fakes import FakeServer
from tests.servers import confab

BASELINE = ROOT / "evals" / "sets" / "sample_baseline"


@pytest.fixture(scope="module")
def confab_eval(sample: Settings) -> Evaluate:
    return Evaluate(sample)


@pytest.fixture(scope="module")
def run(confab_eval: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped set, answered."""
    folder = tmp_path_factory.mktemp("evals") / "sample"
    confab_eval("run", "sample", "--save", str(folder))
    return folder


def test_the_shipped_set_passes_its_gate(confab_eval: Evaluate, run: Path) -> None:
    code, told = confab_eval("gate", str(BASELINE), str(run))
    assert code == 0, told


def test_every_quote_of_the_shipped_set_stands_in_its_abstract(run: Path) -> None:
    quotes = [quote for row in saved.load(run).rows.values() for quote in row.quotes]
    assert quotes and all(quote.valid for quote in quotes)


def test_a_second_run_and_a_second_scoring_give_the_same_bytes(confab_eval: Evaluate, run: Path) -> None:
    before = (run / "scores.json").read_bytes()
    again = run.parent / "again"
    confab_eval("run", "sample", "--save", str(again), "--concurrency", "4")
    assert (again / "scores.json").read_bytes() == before
    confab_eval("score", str(run))
    assert (run / "scores.json").read_bytes() == before


def test_a_threshold_at_zero_fails_the_gate_with_exit_code_5(confab_eval: Evaluate, run: Path, tmp_path: Path) -> None:
    confab_eval("run", "sample", "--save", str(tmp_path / "open"), abstain_below=0)
    junit = tmp_path / "junit.xml"
    code, told = confab_eval("gate", str(run), str(tmp_path / "open"), "--junit", str(junit))
    assert code == 5 and "abstention_recall" in told
    assert "<failure" in junit.read_text("utf-8")


def keeps_the_rules(body: dict[str, Any]) -> str:
    """A model that quotes the sentence nearest to the question where its prompt asks for marks, else talks freely."""
    system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
    asked = set(query_words(user.rpartition(">>>")[2]))
    pairs = [(key, text[a:b]) for key, text in sources(body).items() for a, b in sentences(text)]
    key, best = max(pairs, key=lambda pair: len(asked & set(query_words(pair[1]))))
    return f'{best} [{key}: "{best}"]' if "ends with a mark" in system else f"{' '.join(sorted(best.split()))}."


def without_the_citation_rule(body: dict[str, Any]) -> str:
    """The same model, read a prompt whose rules on marks were lost."""
    first, *others = body["messages"]
    kept = [line for line in first["content"].splitlines() if "mark" not in line and "KEY" not in line]
    return keeps_the_rules(body | {"messages": [first | {"content": "\n".join(kept)}, *others]})


def test_a_prompt_without_the_citation_rule_is_caught(confab_eval: Evaluate, tmp_path: Path) -> None:
    for name, model in (("good", keeps_the_rules), ("lost", without_the_citation_rule)):
        with FakeServer(default=model) as server:
            words = ["run", "sample", "--save", str(tmp_path / name)]
            confab_eval(*words, openai_base_url=server.base_url)
    code, told = confab_eval("gate", str(tmp_path / "good"), str(tmp_path / "lost"))
    assert code == 5 and "citation_recall" in told
    usage = saved.load(tmp_path / "good").rows["sample-04"].usage
    assert usage.prompt_tokens > 0 and usage.cost is None


def test_a_run_is_resumed_and_not_mixed_with_another(confab_eval: Evaluate, run: Path, tmp_path: Path) -> None:
    own = tmp_path / "run"
    shutil.copytree(run, own)
    lines = (own / "rows.jsonl").read_text("utf-8").splitlines(keepends=True)
    (own / "rows.jsonl").write_text("".join(lines[:20]), "utf-8")
    confab_eval("run", "sample", "--save", str(own))
    assert (own / "scores.json").read_bytes() == (run / "scores.json").read_bytes()
    with pytest.raises(UsageError, match="--fresh"):
        confab_eval("run", "sample", "--save", str(own), legs="lexical")


def test_two_configurations_are_compared_and_reported(confab_eval: Evaluate, run: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    confab_eval("run", "sample", "--save", str(words), legs="lexical", sentence_stage=False)
    found = confab_eval.result("compare", str(words), str(run))
    assert {one["metric"] for one in found["metrics"]} >= {"hit@1", "ndcg@10", "false_refusals"}
    page = confab_eval.result("report", str(words), str(run), "--out", str(tmp_path / "r.html"))
    assert 20_000 < page["bytes"] < 2_000_000


def test_why_names_the_stage_at_which_a_paper_was_lost(confab_eval: Evaluate) -> None:
    case = sets.read(ROOT / "evals/sets/sample.jsonl")[0]
    found = confab_eval.result("why", case.question, case.gold[0])
    assert found["stages"]["fusion"].startswith("rank 1")
    off = confab_eval.result("why", "Who won the football world cup in 2022?", case.gold[0])
    assert off["lost_at"] is not None
    with pytest.raises(NotFound):
        confab_eval("why", "What?", "no-such-paper")


def test_check_finds_the_shipped_set_to_fit_the_index(confab_eval: Evaluate) -> None:
    found = confab_eval.result("check", "sample")
    assert found["errors"] == []
    with pytest.raises(NotFound, match="the sets that ship are: sample"):
        confab_eval("check", "nothing")


def test_check_of_a_set_for_another_index_ends_with_3(confab_eval: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"id": "x", "question": "Why?", "gold": ["elsewhere"]}\n', "utf-8")
    code, told = confab_eval("check", str(tmp_path / "set.jsonl"))
    assert code == 3 and "elsewhere" in told


@pytest.mark.parametrize("form", ["ragas", "deepeval", "trec", "outputs"])
def test_a_run_is_exported_in_every_form(confab_eval: Evaluate, run: Path, tmp_path: Path, form: str) -> None:
    confab_eval.result("export", str(run), "--form", form, "--out", str(tmp_path / "out"))
    assert len((tmp_path / "out").read_text("utf-8").splitlines()) >= 30
    if form in ("trec", "outputs"):
        own = ["--set", str(run / "cases.jsonl"), "--out", str(tmp_path / "back")]
        back = confab_eval.result("import", str(tmp_path / "out"), "--form", form, *own)
        figures = saved.read_json(run / "scores.json")["groups"]["all"]["metrics"]["ndcg@10"]
        assert back["scores"]["groups"]["all"]["metrics"]["ndcg@10"] == figures
    else:
        own = ["--form", form, "--out", str(tmp_path / "back")]
        back = confab_eval.result("import", str(tmp_path / "out"), *own)
        assert back["questions"] == len(sets.read(run / "cases.jsonl"))


def test_drafts_that_nothing_speaks_against_are_kept(confab_eval: Evaluate, tmp_path: Path) -> None:
    out = tmp_path / "drafts.jsonl"
    kept = confab_eval.result("draft", "--out", str(out), "--count", "6", "--keep-all")["kept"]
    assert 1 <= len(kept) <= 6 and [case.id for case in sets.read(out)] == kept
    assert confab_eval.result("draft", "--out", str(out), "--count", "6", "--keep-all")["kept"] == []


def test_a_judge_scores_a_saved_run_for_good(own_sample: Settings, run: Path, tmp_path: Path) -> None:
    confab_eval = Evaluate(own_sample)
    shutil.copytree(run, tmp_path / "run")
    label = {"id": "sample-04", "judge": "faithfulness", "label": 0}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label), "utf-8")
    with FakeServer(default='{"reason": "r", "verdict": "yes"}') as server:
        words = [
            "judge",
            str(tmp_path / "run"),
            "--base-url",
            server.base_url,
            "--labels",
            str(tmp_path / "labels.jsonl"),
        ]
        scores = confab_eval.result(*words, judge_model="judge")["scores"]
    assert scores["groups"]["all"]["metrics"]["faithfulness"]["value"] == 1.0
    assert scores["agreement"]["faithfulness"] == {"kappa": 0.0, "agreed": 0.0, "n": 1}
    assert confab_eval.result("score", str(tmp_path / "run")) == scores


@pytest.fixture
def piped() -> Iterator[None]:
    before, sys.stdin = sys.stdin, io.StringIO("k\nd\nq\n")
    yield
    sys.stdin = before


def test_drafts_are_kept_and_dropped_in_the_terminal(confab_eval: Evaluate, tmp_path: Path, piped: None) -> None:
    kept = confab_eval.result("draft", "--out", str(tmp_path / "d.jsonl"), "--count", "5")["kept"]
    assert len(kept) == 1


@pytest.mark.parametrize("stdin", [io.StringIO(""), None])
def test_drafts_without_a_terminal_say_what_keeping_needs(
    confab_eval: Evaluate, tmp_path: Path, stdin: io.StringIO | None
) -> None:
    before, sys.stdin = sys.stdin, stdin  # type: ignore[assignment]  # None is what Python has for a closed one
    try:
        code, told = confab_eval("draft", "--out", str(tmp_path / "d.jsonl"), "--count", "2")
    finally:
        sys.stdin = before
    assert code == 0 and "0 questions added" in told and "keeping needs a terminal, or --keep-all" in told


def test_feedback_becomes_cases(confab_eval: Evaluate, tmp_path: Path) -> None:
    line = {"question": "What is COFT?", "answer_id": "a", "helpful": True, "cited": ["11b5845b2acf4c0a"]}
    (tmp_path / "f.jsonl").write_text(json.dumps(line), "utf-8")
    words = ["from-feedback", str(tmp_path / "f.jsonl"), "--out", str(tmp_path / "set.jsonl")]
    assert len(confab_eval.result(*words)["added"]) == 1
    assert confab_eval.result(*words)["added"] == []


def test_help_and_errors_come_from_the_front_door(sample: Settings) -> None:
    told = confab("eval", "--help", data_dir=sample.data_dir)
    assert told.returncode == 0 and all(verb in told.stdout for verb in cli.VERBS)
    lost = confab("eval", "score", "nowhere", "--json", data_dir=sample.data_dir)
    assert lost.returncode == ConfabError.exit_code + 3 and "confab eval run" in lost.stderr and lost.stdout == ""
