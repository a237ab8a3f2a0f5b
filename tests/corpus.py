"""A few papers of our own, small enough to know by heart, and how to write them as a list."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ingest.clean import clean
from ingest.record import Record
from rag.types import Paper

ROWS: tuple[dict[str, Any], ...] = (
    {
        "id": "birds", "title": "Counting Birds from Space", "authors": ["Zoë M. Schölkopf", "李雷"], "venue": "ICML",
        "year": 2026, "topic": "Applications->Ecology", "url": "https://example.org/birds",
        "abstract": "We count the ptarmigan from space. The counter finds nine of ten birds in the far north. "
        "Code is public.",
    },
    {
        "id": "pruning", "title": "LipoPU prunes", "authors": ["Ann Lee"], "venue": "ICML", "year": 2025,
        "topic": "Optimization", "abstract": "Large models are wasteful. LipoPU removes 38 % of all weights without "
        "retraining. Accuracy stays within 0.2 points.",
    },
    {
        "id": "memory", "authors": ["Bo Wu", "Ann Kim"], "venue": "NeurIPS", "year": 2024,
        "topic": "Applications->Robotics", "abstract": "Robots forget where they have been. We propose TACTIC, a map "
        "that a robot keeps for a year. It forgets nothing that matters.",
    },
    {"id": "10.1/x y?#", "abstract": "Nobody knows who wrote this abstract or when, yet it speaks of kernel methods."},
)  # fmt: skip


def paper(row: dict[str, Any]) -> Paper:
    made = clean(Record(where="here", fields=row), "corpus")
    assert isinstance(made, Paper), made
    return made


def papers() -> list[Paper]:
    return [paper(row) for row in ROWS]


def changed(id_: str, **fields: Any) -> list[dict[str, Any]]:
    """All rows, one of them with other fields."""
    return [row | fields if row["id"] == id_ else row for row in ROWS]


def write(path: Path, rows: Iterable[dict[str, Any]] = ROWS) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
