"""Objects as one source gives them, whatever file they stand in (JSON, JSON Lines, a row of a table) -> our fields."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ingest.read import arxiv, openalex, openreview, papercopilot, semantic_scholar, virtual

SHAPES: Mapping[str, ModuleType] = {
    "openreview": openreview,
    "openalex": openalex,
    "semantic-scholar": semantic_scholar,
    "arxiv": arxiv,
    "papercopilot": papercopilot,
    "virtual": virtual,
}
"""Each has `matches(fields)` and `read(fields)`."""


def shaped(fields: dict[str, Any], form: str | None) -> dict[str, Any]:
    """`fields` as our fields where a source is known by them (or named by `form`), else as they are."""
    named = SHAPES.get(form or "")
    shape = named or next((shape for shape in SHAPES.values() if shape.matches(fields)), None)
    return dict(shape.read(fields)) if shape else fields
