"""Figures: they agree with an independent scorer, are never NaN, and count what was not scored."""

import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals import metrics
from evals.cases import Case
from evals.containment import contains, normalise, unmarked
from evals.rows import Quoted, Row
from evals.rows import outputs as outputs_of
from tests.record_evals import RECORDED

SCORER = Path(__file__).parents[2] / "shared" / "evals" / "score.py"
THEIRS = {
    "hit@1": "hit@1", "hit@3": "hit@3", "hit@10": "hit@10", "recall@10": "recall@10", "containment": "answer",
    "groups_met": "groups", "forbidden": "forbidden", "citation_precision": "cite_p", "citation_recall": "cite_r",
    "abstention_precision": "abst_p", "abstention_recall": "abst_r", "false_refusals": "false_abst",
}  # fmt: skip


@pytest.fixture(scope="module")
def scorer() -> ModuleType:
    if not SCORER.is_file():
        pytest.skip("the shared scorer is not beside this repository; recorded figures stand in for it")
    spec = importlib.util.spec_from_file_location("shared_score", SCORER)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ours(cases: list[Case], rows: list[Row]) -> dict[str, float | None]:
    worth = metrics.measure(cases, {row.id: row for row in rows})
    return {name: figure.value for name, figure in metrics.aggregate(cases, worth).items()}


def theirs(scorer: ModuleType, cases: list[Case], rows: list[Row]) -> dict[str, float | None]:
    outputs = {row.id: json.loads(row.line()) for row in rows}
    mapper = scorer.Mapper()
    measured = [scorer.measure(json.loads(case.line()), outputs.get(case.id), mapper) for case in cases]
    return {name: scorer.aggregate(measured)[their][0] for name, their in THEIRS.items()}


def same(left: float | None, right: float | None) -> bool:
    return left == right if left is None or right is None else abs(left - right) < 0.0005


PAPERS = st.sampled_from([f"p{n}" for n in range(8)])
FRAGMENTS = st.sampled_from(
    r"""
    COFT 38% 38 \% 38\% 1,000 1000 $O(1/\sqrt{T})$ sqrt(T) √T [1] [seed-02] 【3】 [1, 2](x) 方法 降低了 38，%
    $\mathcal{L}$
    naïve naive state-of-the-art state‐of‐the‐art models
    model's 70B 70 10 min 10minutes 3.5 .5 5. **bold** \textbf{bold}
    hyper-graphs hypergraph (a) a / b a/b <= ≤ × x \times 100 % ” “ ( ) * ** ~ bias biases 1.5x 2,5 ²
    """.split()
)
TEXT = st.one_of(
    st.lists(FRAGMENTS, max_size=8).map(" ".join), st.lists(FRAGMENTS, max_size=4).map("".join), st.text(max_size=20)
)
NEEDLE = st.one_of(FRAGMENTS, TEXT, FRAGMENTS.map(lambda text: text + "*")).filter(bool)


@st.composite
def questions(draw: st.DrawFn, name: str) -> Case:
    gold = draw(st.lists(PAPERS, max_size=3, unique=True))
    expect = draw(st.sampled_from(["answer", "either"] if gold else ["abstain", "answer", "either"]))
    groups = [] if expect == "abstain" else draw(st.lists(st.lists(NEEDLE, min_size=1, max_size=2), max_size=2))
    forbidden = draw(st.lists(NEEDLE, max_size=1))
    optional = draw(st.lists(PAPERS.filter(lambda paper: paper not in gold), max_size=2))
    return Case(
        id=name, question="q?", kind=draw(st.sampled_from(["fact", "math"])), gold=tuple(gold), expect=expect,
        must_contain=tuple(map(tuple, groups)), must_not_contain=tuple(forbidden), optional=tuple(optional),
    )  # fmt: skip


@st.composite
def outputs(draw: st.DrawFn, name: str) -> Row:
    return Row(
        id=name, retrieved=tuple(draw(st.lists(PAPERS, max_size=12))), answer=draw(TEXT), abstained=draw(st.booleans()),
        citations=tuple(draw(st.lists(PAPERS, max_size=3))),
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_figures_agree_with_the_independent_scorer_on_made_up_outputs(scorer: ModuleType, data: st.DataObject) -> None:
    names = [f"q{n}" for n in range(data.draw(st.integers(1, 5)))]
    cases = [data.draw(questions(name)) for name in names]
    rows = [data.draw(outputs(names[0])), *(data.draw(outputs(n)) for n in names[1:] if data.draw(st.booleans()))]
    mine, other = ours(cases, rows), theirs(scorer, cases, rows)
    assert all(same(mine[name], other[name]) for name in THEIRS), (mine, other)
    assert all(value is None or math.isfinite(value) for value in mine.values())


@settings(max_examples=1000, deadline=None)
@given(text=TEXT, needle=NEEDLE)
def test_strings_are_found_just_as_the_independent_scorer_finds_them(
    scorer: ModuleType, text: str, needle: str
) -> None:
    assert normalise(text) == scorer.normalise(text)
    assert normalise(unmarked(text)) == scorer.normalise(scorer._CITE.sub(" ", text))
    assert contains(normalise(text), needle) == scorer.contains(normalise(text), needle)


def test_figures_agree_with_those_recorded_from_the_independent_scorer() -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))
    cases = [Case.model_validate(question) for question in recorded["questions"]]
    rows = outputs_of([json.dumps(one) for one in recorded["outputs"]], RECORDED.name)
    mine = ours(cases, rows)
    assert {their: recorded["figures"][their] for their in THEIRS.values()} == {
        their: pytest.approx(mine[name], abs=0.0005) for name, their in THEIRS.items()
    }


GOLD = Case(id="g", question="q?", gold=("a", "b"), must_contain=(("yes",),), expect="answer")
NONE = Case(id="n", question="q?", expect="abstain")


def worth(case: Case, row: Row | None, **more: Row) -> metrics.Measured:
    rows = more | ({case.id: row} if row else {})
    return metrics.measure([case], rows)[0]


def test_a_run_of_retrieval_leaves_answers_unscored_and_not_zero() -> None:
    figures = metrics.aggregate([GOLD], [worth(GOLD, Row(id="g", retrieved=("a", "x")))])
    assert figures["recall@10"].value == 0.5 and figures["ndcg@10"].value == pytest.approx(0.6131, abs=1e-4)
    assert figures["containment"] == (None, 0, 1, None, None)
    assert figures["citation_validity"].value is None


def test_a_question_without_an_outcome_is_a_miss_in_every_rate() -> None:
    other = Row(id="other", answer="x")
    for lost in (None, Row(id="g", retrieved=("a",), error="it broke")):
        missed = worth(GOLD, lost, other=other)
        assert {missed[name] for name in ("hit@1", "map", "containment", "citation_recall", "false_refusals")} == {0.0}
        assert missed["citation_precision"] is None and missed["citation_validity"] is None


def test_a_list_cut_before_rank_k_leaves_figures_at_k_unscored() -> None:
    cut = worth(GOLD, Row(id="g", retrieved=("x", "y", "z"), depth=3))
    assert cut["hit@3"] == 0.0 and cut["hit@10"] is None and cut["recall@100"] is None


def test_graded_relevance_weighs_in_ndcg_and_excluded_papers_leave_the_ranking() -> None:
    graded = GOLD.model_copy(update={"grades": {"b": 3}, "exclude": ("self",)})
    assert worth(graded, Row(id="g", retrieved=("self", "b", "a")))["ndcg@10"] == pytest.approx(1.0)
    swapped = worth(graded, Row(id="g", retrieved=("self", "a", "b")))
    assert swapped["hit@1"] == 1.0 and swapped["ndcg@10"] == pytest.approx(0.7967, abs=1e-4)


def test_one_invalid_quote_breaks_citation_validity() -> None:
    quotes = [Quoted(number=1, paper="a", quote="q", start=0, end=1, valid=valid) for valid in (True, False)]
    assert worth(GOLD, Row(id="g", answer="yes", quotes=tuple(quotes)))["citation_validity"] == 0.5


def test_abstaining_at_every_threshold_is_drawn_from_the_evidence() -> None:
    rows = {"g": Row(id="g", evidence=0.8), "n": Row(id="n", evidence=0.4)}
    curve = metrics.threshold_curve([GOLD, NONE], rows)
    assert [(point.precision, point.recall, point.false_refusals) for point in curve] == [
        (None, 0.0, 0.0), (1.0, 1.0, 0.0), (0.5, 1.0, 1.0),
    ]  # fmt: skip
    assert metrics.threshold_curve([GOLD], rows) == []


def test_figures_stand_for_all_questions_and_each_kind_and_language() -> None:
    chinese = NONE.model_copy(update={"lang": "zh", "kind": "chinese"})
    assert list(metrics.groups([GOLD, chinese])) == ["all", "kind:chinese", "kind:qa", "lang:en", "lang:zh"]


def test_intervals_hold_the_value_and_are_the_same_every_time() -> None:
    cases = [GOLD.model_copy(update={"id": str(n), "gold": (f"p{n % 7}",)}) for n in range(20)]
    worths: list[Any] = [dict.fromkeys(metrics.METRICS) | {"hit@1": float(n % 3 > 0)} for n in range(20)]
    first, again = metrics.aggregate(cases, worths), metrics.aggregate(cases, worths)
    low, high = first["hit@1"].low, first["hit@1"].high
    assert first == again and low is not None and high is not None
    assert 0.3 < low < 13 / 20 < high < 0.9
