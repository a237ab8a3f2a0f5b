"""JSON Lines: an object a line."""

import json
from collections.abc import Iterator
from typing import Any

from ingest.record import Record


def read(text: str) -> Iterator[Record | tuple[str, str]]:
    """Records; for a line that is no JSON object, (where, reason)."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            fields: Any = json.loads(line, parse_constant=refuse)
        except (ValueError, RecursionError) as error:
            yield where, f"not JSON: {error}"
            continue
        if isinstance(fields, dict):
            yield Record(where=where, fields=fields)
        else:
            yield where, f"a JSON object was expected, this is a {type(fields).__name__}"


def refuse(name: str) -> float:
    """NaN and Infinity, which Python writes and JSON does not know."""
    raise ValueError(f"{name} is no JSON")
