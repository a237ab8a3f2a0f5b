"""Comparing two runs: differences, luck, and the words for them."""

from pathlib import Path

import numpy as np
import pytest

from evals import metrics, statistics, tables
from evals.cases import Case
from evals.compare import compare
from evals.rows import Row
from evals.run import Plan
from evals.saved import Saved
from rag.errors import UsageError
from tests.fake_engine import CASES, WordEngine, ran


def made(name: str, hits: list[bool], papers: int | None = None) -> Saved:
    """A run of retrieval in which question n finds its paper first where hits[n]."""
    cases = [Case(id=f"q{n}", question="?", gold=(f"p{n % (papers or len(hits))}",)) for n in range(len(hits))]
    rows = {
        case.id: Row(id=case.id, retrieved=case.gold if hit else ("x",)) for case, hit in zip(cases, hits, strict=True)
    }
    return Saved(Path(name), {}, cases, rows)


def test_the_same_run_shows_no_evidence_of_a_difference_and_what_it_could_have_shown(tmp_path: Path) -> None:
    run = ran(tmp_path / "run")
    found = compare(run, run)
    assert {one.verdict for one in found.metrics} == {"no evidence of a difference"}
    assert {one.p for one in found.metrics} == {1.0} and found.better == found.worse == ()
    assert (
        "no evidence of a difference; the smallest that this set would have shown four times in five: hit@1"
        in found.note
    )
    assert "equal" not in tables.comparison(found)
    assert all(0 < one.detectable <= 1 for one in found.metrics)


def test_a_real_difference_is_found_with_its_interval_and_a_corrected_p() -> None:
    a, b = made("a", [n % 2 == 0 for n in range(60)]), made("b", [n % 10 > 0 for n in range(60)])
    (hit,) = [one for one in compare(a, b).metrics if one.metric == "hit@1"]
    assert (hit.a, hit.b, hit.difference, hit.verdict) == (0.5, 0.9, 0.4, "better")
    assert 0.1 < hit.low < 0.4 < hit.high < 0.7
    assert hit.p_uncorrected < hit.p < 0.05
    assert {one.verdict for one in compare(b, a).metrics if one.metric == "hit@1"} == {"worse"}


def test_a_few_questions_of_many_are_noise() -> None:
    a, b = made("a", [True] * 40), made("b", [True] * 38 + [False] * 2)
    found = compare(a, b)
    assert {one.verdict for one in found.metrics} == {"no evidence of a difference"}
    assert len(found.worse) == 2 and found.better == ()


def test_questions_about_one_paper_are_drawn_together_and_widen_the_interval() -> None:
    flips = [n % 6 < 3 for n in range(60)]
    wide = compare(made("a", [True] * 60, 6), made("b", flips, 6)).metrics[0]
    narrow = compare(made("a", [True] * 60), made("b", flips)).metrics[0]
    assert wide.difference == narrow.difference == -0.5
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_lower_is_better_where_the_metric_says_so(tmp_path: Path) -> None:
    a, b = ran(tmp_path / "a"), ran(tmp_path / "b", WordEngine(abstain_below=2.0))
    refusals = next(one for one in compare(a, b).metrics if one.metric == "false_refusals")
    assert refusals.difference == 1.0
    assert {moved.id for moved in compare(a, b).worse} >= {"c1", "c4", "c6"}


def test_better_and_worse_questions_show_both_answers(tmp_path: Path) -> None:
    a, b = ran(tmp_path / "a"), ran(tmp_path / "b", WordEngine(abstain_below=0.0))
    found = compare(a, b)
    assert {moved.id for moved in found.worse} == {"c7", "c8"}
    told = tables.comparison(found)
    assert "A: The corpus does not tell." in told and "B: We present COFT" in told


def test_runs_of_other_questions_or_depths_are_not_compared(tmp_path: Path) -> None:
    a, b = ran(tmp_path / "a"), ran(tmp_path / "b", cases=CASES[:4])
    with pytest.raises(UsageError, match="asked different questions"):
        compare(a, b)
    with pytest.raises(UsageError, match="--k"):
        compare(a, ran(tmp_path / "c", plan=Plan(depth=3)))


def test_a_metric_that_only_one_run_scored_is_listed_as_unscored(tmp_path: Path) -> None:
    found = compare(ran(tmp_path / "a", plan=Plan(answers=False)), ran(tmp_path / "b"))
    assert "containment" in found.unscored and "hit@1" not in found.unscored


def test_holm_steps_down() -> None:
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert statistics.holm([0.5, 0.9]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_what_a_set_could_show_shrinks_with_its_size() -> None:
    small, large = (compare(made("a", [True] * n), made("a", [True] * n)).metrics[0] for n in (12, 120))
    assert (small.detectable, large.detectable) == (0.5, 0.05)


def test_the_permutation_test_agrees_with_the_sign_test_where_all_move_one_way() -> None:
    a, b = np.zeros(10), np.concatenate([np.ones(6), np.zeros(4)])
    found = statistics.difference((a, np.ones(10)), (b, np.ones(10)))
    assert found is not None and found.value == pytest.approx(0.6) and found.moved == 6
    assert found.p == pytest.approx(2 / 2**6, abs=0.01)


def test_a_metric_that_counts_nothing_has_no_interval_and_no_difference() -> None:
    assert statistics.intervals(np.zeros((5, 1)), np.zeros((5, 1))) == [None]
    assert statistics.difference((np.zeros(3), np.zeros(3)), (np.ones(3), np.ones(3))) is None
    one = metrics.aggregate([CASES[0]], [dict.fromkeys(metrics.METRICS) | {"hit@1": 1.0}])
    assert one["hit@1"] == (1.0, 1, 0, None, None)
