"""Running a set: what is saved, what can be computed again, and what happens when it is stopped."""

import json
from pathlib import Path

import pytest

from evals import manifest, saved, score
from evals.cases import Case
from evals.resolve import keys_file, resolve
from evals.run import Plan
from rag.errors import InputError, NotFound, SettingsError, UsageError
from rag.settings import Settings
from rag.types import Paper, text_digest
from tests.fake_engine import CASES, PAPERS, WordEngine, ran


def test_a_run_saves_the_ranking_the_answer_and_its_quotes(tmp_path: Path) -> None:
    run = ran(tmp_path / "run")
    row = run.rows["c1"]
    assert row.retrieved[0] == "p1" and row.citations == ("p1",) and row.quotes[0].valid
    assert row.found[0].snippet == "It cuts bias metrics by 30 to 55 percent."
    assert row.usage.cost == 0.01 and set(row.timings_ms) == {"retrieve", "answer", "first_token", "total"}
    assert run.rows["c7"].abstained and run.rows["c7"].citations == ()
    assert run.papers["p1"]["abstract"].startswith("We present COFT")


def test_two_runs_give_byte_identical_score_files(tmp_path: Path) -> None:
    ran(tmp_path / "one", plan=Plan(concurrency=1))
    ran(tmp_path / "two", plan=Plan(concurrency=5))
    one, two = ((tmp_path / name / "scores.json").read_bytes() for name in ("one", "two"))
    assert one == two
    assert b"NaN" not in one and b'"first_token"' not in one


def test_figures_are_computed_again_from_the_rows_alone(tmp_path: Path) -> None:
    run = ran(tmp_path / "run")
    before = (run.path / "scores.json").read_bytes()
    (run.path / "scores.json").unlink()
    figures = score.write(saved.load(run.path))
    assert (run.path / "scores.json").read_bytes() == before
    assert figures["groups"]["all"]["metrics"]["citation_validity"]["value"] == 1.0
    timings = saved.read_json(run.path / "timings.json")
    assert timings["latency_ms"]["answer"] == {"p50": 2.5, "p95": 2.5, "n": 8} and timings["cost"] == 0.08


def test_a_run_of_retrieval_asks_for_no_answer(tmp_path: Path) -> None:
    engine = WordEngine()
    figures = score.score(ran(tmp_path / "run", engine, Plan(answers=False)))
    assert engine.asked == [] and figures["mode"] == "retrieval"
    assert figures["groups"]["all"]["metrics"]["containment"] == {
        "value": None, "n": 0, "unscored": 8, "low": None, "high": None,
    }  # fmt: skip


def test_a_run_that_was_stopped_asks_only_what_is_missing(tmp_path: Path) -> None:
    folder, broken = tmp_path / "run", WordEngine()
    broken.breaks_after = 3
    with pytest.raises(RuntimeError, match="a bug"):
        ran(folder, broken, Plan(concurrency=1))
    with (folder / "rows.jsonl").open("a") as file:
        file.write('{"id": "c4", "retr')  # what a kill leaves
    engine = WordEngine()
    run = ran(folder, engine)
    assert len(engine.asked) == len(CASES) - 3 and list(run.rows) == [case.id for case in CASES]


def test_an_error_is_the_outcome_of_its_question_and_is_tried_again(tmp_path: Path) -> None:
    figures = score.score(ran(tmp_path / "run", WordEngine(fails={CASES[0].question})))
    assert figures["errors"] == 1
    again = WordEngine()
    assert score.score(ran(tmp_path / "run", again))["errors"] == 0
    assert again.asked == [CASES[0].question]


def test_a_forged_quote_is_found_out(tmp_path: Path) -> None:
    figures = score.score(ran(tmp_path / "run", WordEngine(forge=True)))
    assert figures["groups"]["all"]["metrics"]["citation_validity"]["value"] == 0.0


def test_a_budget_ends_the_asking_and_leaves_the_rest_for_later(tmp_path: Path) -> None:
    plan = Plan(concurrency=1, budget=0.03)
    run = ran(tmp_path / "run", plan=plan)
    assert len(run.rows) == 3 and score.score(run)["missing"] == 5
    with pytest.raises(SettingsError, match="CONFAB_PRICES"):
        ran(tmp_path / "unpriced", WordEngine(cost=None), plan)


def test_excluded_papers_leave_the_ranking_and_others_move_up(tmp_path: Path) -> None:
    case = CASES[0].model_copy(update={"exclude": ("p1",), "gold": ("p4",), "must_contain": ()})
    row = ran(tmp_path / "run", plan=Plan(answers=False, depth=4), cases=(case,)).rows["c1"]
    assert "p1" not in row.retrieved and len(row.retrieved) == 4


def test_a_folder_is_not_mixed_with_a_run_of_something_else() -> None:
    plan, engine = Plan(), WordEngine()
    old = manifest.manifest("small", CASES, plan, Settings(), engine)
    other = manifest.manifest("small", CASES, plan, Settings(legs="dense"), engine)
    with pytest.raises(UsageError, match=r"another settings.*--fresh"):
        manifest.refuse_other(old, other, Path("folder"))
    faster = manifest.manifest("small", CASES, Plan(concurrency=9), Settings(search_threads=9), engine)
    manifest.refuse_other(old, faster, Path("folder"))
    assert "sk-secret" not in json.dumps(
        manifest.manifest("s", CASES, plan, Settings(openai_api_key="sk-secret"), engine)
    )


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="confab eval run"):
        saved.load(tmp_path)


def test_gold_keys_become_ids_by_the_digest_of_the_abstract(tmp_path: Path) -> None:
    untitled = Paper(id=text_digest("An abstract.")[:16], abstract="An  abstract.")
    engine = WordEngine([*PAPERS, untitled])
    (tmp_path / "keys.json").write_text(json.dumps({"k1": {"sha256": text_digest("An abstract.")}}), "utf-8")
    case = Case(id="x", question="?", gold=("p2", "k1", f"sha256:{text_digest(PAPERS[0].abstract)}"))
    (found,), missing = resolve([case], engine, keys_file(tmp_path / "keys.json"))
    assert found.gold == ("p2", untitled.id, "p1") and missing == []


def test_gold_that_the_index_does_not_have_is_an_error_unless_allowed() -> None:
    case = Case(id="x", question="?", gold=("p2", "nobody"))
    with pytest.raises(InputError, match=r"1 of 2 gold papers are not in the index: nobody.*--keys"):
        resolve([case], WordEngine())
    (kept,), missing = resolve([case], WordEngine(), allow_missing=True)
    assert kept.gold == ("p2", "nobody") and missing == ["nobody"]
    with pytest.raises(InputError, match="Is this the index the set is meant for"):
        resolve([case.model_copy(update={"gold": ("nobody",)})], WordEngine(), allow_missing=True)
