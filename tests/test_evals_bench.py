"""Benchmarks: an index over a set's own corpus is built once, and configurations stand side by side."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evals import bench, quality, saving
from rag.errors import InputError, UsageError
from rag.settings import Settings
from tests.fake_engine import ABSTRACTS, CASES
from tests.servers import confab


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder laid out as the shared one, with one benchmark of six papers, one of them without a text."""
    root = tmp_path_factory.mktemp("shared")
    folder = root / "data" / "benchmarks" / "scifact"
    (folder / "qrels").mkdir(parents=True)
    docs = [{"_id": key, "title": "", "text": text} for key, text in ABSTRACTS.items()]
    with gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(doc) + "\n" for doc in [*docs, {"_id": "p0", "title": "Empty", "text": ""}])
    asked = [case for case in CASES if case.gold]
    queries = "".join(json.dumps({"_id": case.id, "text": case.question}) + "\n" for case in asked)
    (folder / "queries.jsonl").write_text(queries, "utf-8")
    judged = "".join(f"{case.id}\t{case.gold[0]}\t1\n" for case in asked)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")
    return root


@pytest.fixture(scope="module")
def found(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """(data folder, what `confab eval bench` printed)."""
    data_dir = tmp_path_factory.mktemp("bench") / "data"
    done = confab("eval", "bench", str(shared / "data/benchmarks/scifact"), "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    return data_dir, json.loads(done.stdout)


def test_every_configuration_is_measured_over_an_index_of_the_corpus(found: tuple[Path, Any]) -> None:
    assert list(found[1]) == ["words", "dense", "hybrid", "default"]
    for name, one in found[1].items():
        metrics = one["scores"]["groups"]["all"]["metrics"]
        assert one["scores"]["depth"] == 100 and metrics["ndcg@10"]["value"] > 0.8, name
        assert metrics["containment"]["n"] == 0


def test_the_index_is_built_once_and_taken_by_the_readme_table(found: tuple[Path, Any], shared: Path) -> None:
    (index,) = (found[0] / "bench").iterdir()
    made = (index / "CURRENT").stat().st_mtime_ns
    named = index.with_name("scifact")
    index.rename(named)
    (one,) = quality.measure(
        Settings(data_dir=found[0]), shared, found[0] / "bench", found[0] / "q", ["scifact"], build=False
    )
    assert (named / "CURRENT").stat().st_mtime_ns == made
    told = quality.markdown([one])
    assert "| scifact | 6 | BM25 alone | 1.000 |" in told and "`confab eval quality --only scifact`" in told


def test_sets_without_an_index_are_left_out_where_none_may_be_built(shared: Path, tmp_path: Path) -> None:
    assert quality.measure(Settings(), shared, tmp_path, tmp_path, ["scifact"], build=False) == []


def test_what_is_not_there_is_named(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent is not there; --shared"):
        quality.measure(Settings(), tmp_path / "absent", tmp_path, tmp_path, ["seed_dev"])
    with pytest.raises(InputError, match="--shared"):
        quality.measure(Settings(), tmp_path, tmp_path, tmp_path, ["seed_dev"])
    with pytest.raises(UsageError, match="no set other"):
        quality.measure(Settings(), shared, tmp_path, tmp_path, ["other"])
    with pytest.raises(UsageError, match="no configuration fast"):
        bench.chosen(["fast"])


def test_a_beir_folder_is_a_set_and_so_is_a_file_and_one_that_ships(shared: Path) -> None:
    assert len(saving.read_set(str(shared / "data/benchmarks/scifact"))) == 6
    assert len(saving.read_set("sample")) >= 30
