"""Lines of JSON as people's files hold them: line breaks of Unicode, nesting without end, values of the wrong kind."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evals import agreement, beir, cases, exchange, feedback, rows, saved
from evals.cases import Case
from evals.lines import lines_of
from evals.rows import Row
from rag.errors import InputError
from tests.fake_engine import ran

BREAKS = "one\u2028two\u2029three\u0085four\u000bfive\u000csix\u001cseven"
DEEP = '{"id": "a", "question": ' + "[" * 200_000 + "]" * 200_000 + "}"


def written(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), "utf-8")
    return path


def test_rows_whose_answers_hold_line_breaks_of_unicode_come_back_as_they_went(tmp_path: Path) -> None:
    case = Case(id="a", question=BREAKS)
    row = Row(id="a", answer=BREAKS)
    saved.write_rows(tmp_path / "rows.jsonl", [case], {"a": row})
    saved.write_papers(tmp_path / "papers.jsonl", {"p": {"title": BREAKS, "abstract": BREAKS}})
    (tmp_path / "cases.jsonl").write_text(cases.dump([case]), "utf-8")
    run = saved.load(tmp_path)
    assert (run.cases, run.rows, run.papers["p"]["abstract"]) == ([case], {"a": row}, BREAKS)
    (tmp_path / "outputs").write_text(rows.output(row), "utf-8")
    assert rows.outputs(lines_of(tmp_path / "outputs"), "outputs")[0].answer == BREAKS


def test_sets_of_others_may_hold_them_too(tmp_path: Path) -> None:
    said = written(tmp_path / "f.jsonl", {"question": BREAKS, "answer_id": "x", "helpful": True})
    assert len(feedback.parse(lines_of(said), "f")) == 1
    assert exchange.read(lines_of(written(tmp_path / "r", {"user_input": BREAKS})), "r", "ragas")[0].question == BREAKS
    packed = tmp_path / "corpus.jsonl.gz"
    packed.write_bytes(gzip.compress(written(tmp_path / "c", {"_id": "d", "text": BREAKS}).read_bytes()))
    assert [paper["abstract"] for paper in beir.papers(tmp_path)] == [BREAKS]
    written(tmp_path / "queries.jsonl", {"_id": "q", "text": BREAKS})
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\r\nq\td\u2028e\t1\r\n", "utf-8")
    (case,) = beir.cases(tmp_path)
    assert (case.question, case.gold) == (BREAKS, ("d\u2028e",))


def test_a_line_that_nests_without_end_is_named(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text("\n" + DEEP, "utf-8")
    with pytest.raises(InputError, match=r"set\.jsonl line 2: not JSON \(it nests too deep\)"):
        cases.read(tmp_path / "set.jsonl")
    with pytest.raises(InputError, match=r"set\.jsonl line 2 is no row of a run: it nests too deep"):
        saved.read_rows(tmp_path / "set.jsonl")
    with pytest.raises(InputError, match=r"set\.jsonl is not JSON \(it nests too deep\)"):
        saved.read_json(tmp_path / "set.jsonl")


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (rows.parse, "f line 2 is no row of a run: id: Field required"),
        (rows.outputs, "f line 2: expected id, answer, citations, abstained, retrieved: there is no 'id'"),
        (agreement.labels, "f line 2: expected id, judge and label (0 or 1): id: Input should be a valid string"),
        (feedback.parse, "f line 2: question: Field required"),
        (lambda lines, name: exchange.read(lines, name, "ragas"), "with 'user_input': there is no 'user_input'"),
    ],
)
def test_a_wrong_line_is_told_in_a_line_of_our_own(
    read: Callable[[list[str], str], object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read(["", '{"nothing": 1}'], "f")
    assert said in caught.value.message
    assert "pydantic" not in caught.value.message and "\n" not in caught.value.message


def test_papers_and_verdicts_of_a_run_without_their_fields_are_named(tmp_path: Path) -> None:
    run = ran(tmp_path / "run").path
    written(run / "judgements.jsonl", {"id": "c1", "judge": "faithfulness"})
    with pytest.raises(InputError, match=r"judgements\.jsonl line 1: there is no score; expected id, judge, score"):
        saved.load(run)
