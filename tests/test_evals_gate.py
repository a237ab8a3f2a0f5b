"""The gate: planted regressions are caught, a change that touches nothing is not."""

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from evals.gate import Limits, gate, junit, markdown
from evals.run import Plan
from rag.errors import InputError, NotFound, UsageError
from tests.fake_engine import CASES, WordEngine, ran


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("gate") / "baseline").path


def failing(baseline: Path, run: Path) -> set[str]:
    return {check.name for check in gate(baseline, run).failures}


def test_a_change_that_touches_nothing_is_not_flagged_in_20_repeats(baseline: Path, tmp_path: Path) -> None:
    for repeat in range(20):
        run = ran(tmp_path / str(repeat), plan=Plan(concurrency=1 + repeat % 4))
        assert gate(baseline, run.path).passed


def test_a_reranker_that_shuffles_is_caught(baseline: Path, tmp_path: Path) -> None:
    assert {"hit@1", "ndcg@10"} <= failing(baseline, ran(tmp_path / "run", WordEngine(shuffle=True)).path)


def test_a_threshold_at_zero_is_caught(baseline: Path, tmp_path: Path) -> None:
    assert "abstention_recall" in failing(baseline, ran(tmp_path / "run", WordEngine(abstain_below=0)).path)


def test_quotes_that_do_not_stand_in_the_abstract_break_a_hard_floor(baseline: Path, tmp_path: Path) -> None:
    assert "citation_validity floor" in failing(baseline, ran(tmp_path / "run", WordEngine(forge=True)).path)


def test_a_run_that_declines_everything_is_caught_although_nothing_is_left_to_score(
    baseline: Path, tmp_path: Path
) -> None:
    verdict = gate(baseline, ran(tmp_path / "run", WordEngine(abstain_below=2)).path)
    assert {"false_refusals", "citation_precision"} <= {check.name for check in verdict.failures}
    assert "the run scored no question by it" in markdown(verdict)


def test_questions_without_an_outcome_fail_the_gate(baseline: Path, tmp_path: Path) -> None:
    assert "outcomes" in failing(baseline, ran(tmp_path / "run", WordEngine(fails={CASES[6].question})).path)


def test_limits_beside_the_baseline_are_read_and_may_name_a_group(baseline: Path, tmp_path: Path) -> None:
    own = tmp_path / "baseline"
    shutil.copytree(baseline, own)
    (own / "gate.toml").write_text('[margins]\n"kind:fact/hit@1" = 0.5\n[ceilings]\nfalse_refusals = 0.1\n', "utf-8")
    names = [check.name for check in gate(own, baseline).checks]
    assert names == ["outcomes", "kind:fact/hit@1", "citation_validity floor", "false_refusals ceiling"]
    (own / "gate.toml").write_text("[floors]\nhits = 1.0\n", "utf-8")
    with pytest.raises(InputError, match="names 'hits', which is no metric"):
        gate(own, baseline)


def test_a_margin_is_what_may_be_lost(baseline: Path, tmp_path: Path) -> None:
    run = ran(tmp_path / "run", WordEngine(shuffle=True)).path
    assert gate(baseline, run, Limits(margins={"hit@1": 1.0}, floors={})).passed
    assert not gate(baseline, run, Limits(margins={"hit@1": 0.0}, floors={})).passed


def test_the_verdict_is_written_for_ci_servers_and_people(baseline: Path, tmp_path: Path) -> None:
    verdict = gate(baseline, ran(tmp_path / "run", WordEngine(forge=True)).path)
    suite = ET.fromstring(junit(verdict))
    assert int(suite.attrib["failures"]) == len(verdict.failures) == len(suite.findall("testcase/failure"))
    assert "FAILS in" in markdown(verdict) and "0.000 is -1.000 from 1.000" in markdown(verdict)


def test_runs_that_cannot_be_held_against_each_other_are_refused(baseline: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another mode"):
        gate(baseline, ran(tmp_path / "run", plan=Plan(answers=False)).path)
    with pytest.raises(UsageError, match="another set"):
        gate(baseline, ran(tmp_path / "few", cases=CASES[:3]).path)
    with pytest.raises(NotFound, match="confab eval score"):
        gate(baseline, tmp_path)


def test_a_run_that_lost_its_questions_or_figures_is_refused(baseline: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(baseline, run)
    (run / "cases.jsonl").write_text("", "utf-8")
    for pair in ((baseline, run), (run, baseline)):
        with pytest.raises(InputError, match=r"cases\.jsonl holds no question"):
            gate(*pair)
    (tmp_path / "scores.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match=r"scores\.json has no set, mode, depth"):
        gate(tmp_path / "scores.json", baseline)


def test_wrong_limits_are_told_without_the_words_of_a_library(baseline: Path, tmp_path: Path) -> None:
    own = tmp_path / "baseline"
    shutil.copytree(baseline, own)
    (own / "gate.toml").write_text('[floors]\n"hit@1" = "high"\n', "utf-8")
    with pytest.raises(InputError, match=r"floors\.hit@1: Input should be a valid number") as caught:
        gate(own, baseline)
    assert "pydantic" not in caught.value.message
