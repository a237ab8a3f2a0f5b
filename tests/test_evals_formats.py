"""Sets of others: BEIR folders, TREC files, ragas and deepeval, read and written."""

import gzip
import json
from pathlib import Path

import pytest

from evals import beir, exchange
from evals.cases import Case
from evals.rows import Row
from rag.errors import InputError
from rag.types import text_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = [
        {"_id": "d1", "title": "One", "text": "About cats.", "year": "2017"},
        {"_id": "d2", "title": "", "text": " "},
    ]
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(doc) + "\n" for doc in docs)
    queries = [
        {"_id": "q1", "text": "cats?", "paper_id": "d9", "facet": "method"},
        {"_id": "q2", "text": "猫是什么？"},
        {"_id": "q3", "text": "not judged"},
    ]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries), "utf-8")
    (tmp_path / "qrels").mkdir()
    rows = "query-id\tcorpus-id\tscore\nq1\td1\t3\nq1\td2\t0\nq1\td9\t3\nq2\td1\t1\n"
    (tmp_path / "qrels" / "test.tsv").write_text(rows, "utf-8")
    return tmp_path


def test_a_beir_folder_gives_its_judged_queries_with_grades_and_without_their_own_paper(folder: Path) -> None:
    first, second = beir.cases(folder)
    assert (first.gold, first.grades, first.exclude, first.kind) == (("d1",), {"d1": 3}, ("d9",), "method")
    assert (second.lang, second.grades, second.kind) == ("zh", {}, "test")


def test_a_beir_corpus_becomes_a_list_that_ingest_reads(folder: Path) -> None:
    (line,) = beir.ingestible(folder).splitlines()
    assert json.loads(line) == {"id": "d1", "abstract": "About cats.", "title": "One", "year": 2017}


def test_what_is_no_beir_folder_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "qrels" / "bad.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\n", "utf-8")
    with pytest.raises(InputError, match=r"bad\.tsv line 2: expected"):
        beir.cases(folder, split="bad")
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        beir.corpus_file(tmp_path / "nowhere")


def test_trec_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    rows = [Row(id="q1", retrieved=("b", "a")), Row(id="q2", retrieved=("c",))]
    assert [row.retrieved for row in beir.run_rows(beir.run_text(rows).splitlines(), "run")] == [("b", "a"), ("c",)]
    case = Case(id="q1", question="?", gold=("a", "b"), grades={"b": 2})
    (tmp_path / "qrels.txt").write_text(beir.qrels_text([case]), "utf-8")
    assert beir.qrels(tmp_path / "qrels.txt") == {"q1": {"a": 1, "b": 2}}


def test_a_trec_run_is_ordered_by_score_whatever_its_lines() -> None:
    lines = ["q Q0 low 1 0.5 t", "q Q0 high 2 0.9 t", "q Q0 high 3 0.1 t"]
    assert beir.run_rows(lines, "run")[0].retrieved == ("high", "low")
    with pytest.raises(InputError, match="run line 1: expected"):
        beir.run_rows(["q Q0 a one 1 t"], "run")


CASE = Case(id="c1", question="Why?", gold=("p1",), must_contain=(("x",),), note="because", kind="fact")
TEXTS = {"p1": "The abstract.", "p2": "Another."}
ROW = Row(id="c1", retrieved=("p2", "p1"), answer="x [1]")


def test_a_run_goes_to_ragas_and_its_questions_come_back() -> None:
    line = exchange.write([CASE], {"c1": ROW}, TEXTS, "ragas")
    sample = json.loads(line)
    assert sample["retrieved_contexts"] == ["Another.", "The abstract."] and sample["response"] == "x [1]"
    (back,) = exchange.read([line], "ragas.jsonl", "ragas")
    assert (back.question, back.gold, back.reference) == ("Why?", ("p1",), "because")


def test_a_set_goes_to_deepeval_and_back_unchanged() -> None:
    assert exchange.read(exchange.write([CASE], {}, TEXTS, "deepeval").splitlines(), "d", "deepeval") == [
        CASE.model_copy(update={"reference": "because"})
    ]


def test_foreign_samples_know_papers_by_the_digest_of_their_text() -> None:
    old = {
        "question": "Q?",
        "ground_truths": ["A."],
        "contexts": ["c"],
        "answer": "a",
        "reference_contexts": ["The  text."],
    }
    turns = [{"content": "hi", "type": "human"}, {"content": "yes", "type": "ai"}, {"content": "and?", "type": "human"}]
    one, many = exchange.read([json.dumps(old), json.dumps({"user_input": turns})], "r", "ragas")
    assert one.gold == (f"sha256:{text_digest('The text.')}",) and one.reference == "A."
    assert (many.question, [turn.role for turn in many.history], many.expect) == (
        "and?",
        ["user", "assistant"],
        "either",
    )
    (golden,) = exchange.read([json.dumps({"input": "Q?", "context": ["T"], "expectedOutput": "A"})], "d", "deepeval")
    assert (golden.gold, golden.reference) == ((f"sha256:{text_digest('T')}",), "A")


def test_a_foreign_line_without_a_question_is_named() -> None:
    with pytest.raises(InputError, match="d line 1 is no deepeval sample"):
        exchange.read(['{"output": 1}'], "d", "deepeval")
