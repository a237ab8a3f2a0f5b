"""`confab ingest` on lists of any form: what is told, reported, kept and dropped."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rag.settings import Settings
from rag.store import Store
from tests.corpus import ROWS, write
from tests.test_cli import Terminal, confab, on_small  # noqa: F401 - fixtures

# ruff: noqa: F811 - fixtures are arguments

ABSTRACT = "We prune large models without retraining and lose nothing. It works on images and on text."


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A new paper, a changed one, one as it was, one twice, a broken line, a withdrawn one."""
    rows: list[dict[str, Any]] = [
        {"id": "new", "title": "Pruning", "abstract": ABSTRACT},
        {**ROWS[0], "topic": "Birds"},
        ROWS[1],
        ROWS[1],
        {**ROWS[2], "status": "Withdrawn"},
    ]
    path = write(tmp_path / "mixed.jsonl", rows)
    path.write_text(path.read_text() + "{broken\n")
    return path


def told(path: Path) -> list[tuple[Any, ...]]:
    return [(r["what"], r.get("id"), r.get("where")) for r in json.loads(path.read_text())["records"]]


def test_the_report_says_what_happened_to_every_record(on_small: Terminal, mixed: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    on_small("ingest", str(mixed), "--sync", "--lenient", "--report", str(report), code=0)
    assert told(report) == [
        ("added", "new", "line 1"), ("changed", "birds", "line 2"), ("kept", "pruning", "line 3"),
        ("repeated", "pruning", "line 4"), ("set aside", "memory", "line 5"), ("set aside", None, "line 6"),
        ("dropped", "10.1/x y?#", None), ("dropped", "memory", None),
    ]  # fmt: skip
    reasons = {r.get("where"): r.get("reason", "") for r in json.loads(report.read_text())["records"]}
    assert "withdrawn" in reasons["line 5"]
    assert "not JSON" in reasons["line 6"]


def test_a_paper_that_was_withdrawn_holds_no_place_under_sync(
    on_small: Terminal, tmp_path: Path, small: Settings
) -> None:
    list_ = write(tmp_path / "list.jsonl", [{**ROWS[0], "decision": "withdrawn"}, *ROWS[1:]])
    on_small("ingest", "--sync", str(list_), code=3)
    assert set(Store(small).catalog().digests()) == {row["id"] for row in ROWS[1:]}


def test_a_check_needs_no_index_and_makes_none(confab: Terminal, empty: Settings, mixed: Path) -> None:
    confab.set(empty)
    out = confab("ingest", "--check", str(mixed), code=3)
    assert "6 records read: 4 usable." in out
    assert "mixed.jsonl, line 6: not JSON" in out
    assert confab.json("ingest", "--check", str(mixed), code=3)["usable"] == 4
    confab("ingest", "--check", "--lenient", str(mixed))
    assert Store(empty).current() is None
    assert not empty.data_dir.exists()


def test_standard_input_a_map_and_a_named_form(
    confab: Terminal, empty: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    confab.set(empty)
    raw = f"Titel;Kurzfassung\nPruning;{ABSTRACT}\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    confab("ingest", "-", "--format", "csv", "--map", "title=Titel", "--map", "abstract=Kurzfassung")
    (paper,) = Store(empty).catalog().all_papers()
    assert (paper.title, paper.abstract) == ("Pruning", ABSTRACT)


@pytest.mark.parametrize(
    "wrong", [["--format", "docx"], ["--map", "titel"], ["--map", "titel=Titel"], ["--map", "title="]]
)
def test_what_is_misspelt_is_named_with_what_there_is(on_small: Terminal, mixed: Path, wrong: list[str]) -> None:
    on_small("ingest", str(mixed), *wrong, code=2)
    assert wrong[1] in on_small.err
    assert "bibtex" in on_small.err or "FIELD=NAME" in on_small.err


def test_a_title_alone_is_kept_and_found(on_small: Terminal, tmp_path: Path) -> None:
    list_ = write(tmp_path / "titles.jsonl", [{"id": "walrus", "title": "Walruses of the Arctic Circle"}])
    on_small("ingest", str(list_), code=3)
    on_small("ingest", "--keep-title-only", str(list_))
    assert "Walruses" in on_small("search", "walruses")
    assert "Walruses" in on_small("show", "walrus")


def test_a_report_that_cannot_be_written_is_said(on_small: Terminal, mixed: Path, tmp_path: Path) -> None:
    on_small("ingest", "--check", str(mixed), "--report", str(tmp_path / "no" / "folder.json"), code=3)
    assert "cannot be written" in on_small.err
