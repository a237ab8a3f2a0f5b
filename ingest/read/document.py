"""A JSON document: a list of objects, or an object around such a list (`{"results": [...]}`), or one paper."""

import json
import re
from collections.abc import Iterator
from typing import Any

from ingest.read import jsonl
from ingest.read.fields import known
from ingest.record import Record

AROUND = ("notes", "results", "data", "papers", "records", "items", "entries", "works", "articles", "publications",
          "documents", "recommendedPapers", "message", "hits", "response", "docs")  # fmt: skip
BROKEN = 200
"""Broken elements after which the rest is given up."""


def read(text: str) -> Iterator[Record | tuple[str, str]]:
    """Records; for an element that is no object, (where, reason)."""
    try:
        document: Any = json.loads(text, parse_constant=jsonl.refuse)
    except RecursionError:
        yield "the whole", "not JSON: nested too deeply"
    except ValueError as error:
        yield from _mended(text, str(error))
    else:
        for number, element in enumerate(_elements(document), 1):
            yield _made(f"record {number}", element)


def _made(where: str, element: Any) -> Record | tuple[str, str]:
    if isinstance(element, dict):
        return Record(where=where, fields=element)
    shown = "null" if element is None else f"a {type(element).__name__}"
    return where, f"a JSON object was expected, this is {shown}"


def _elements(document: Any, depth: int = 0) -> list[Any]:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict) or depth > 3:
        return [document]
    if known(document, {}) & {"title", "abstract"} or isinstance(document.get("content"), dict):
        return [document]
    for name in AROUND:
        if isinstance(document.get(name), (list, dict)):
            return _elements(document[name], depth + 1)
    lists = [
        value for value in document.values() if isinstance(value, list) and any(isinstance(v, dict) for v in value)
    ]
    if lists:
        return max(lists, key=len)
    if document and all(isinstance(value, dict) for value in document.values()):
        return [{"id": key, **value} for key, value in document.items()]
    return [document]


def _mended(text: str, error: str) -> Iterator[Record | tuple[str, str]]:
    """Element by element of a list with a break in it. The next element begins as the first one does, on a line."""
    first = re.search(r"\[(\s*)\{", text)
    if first is None:
        yield "the whole", f"not JSON: {error}"
        return
    decoder = json.JSONDecoder(parse_constant=jsonl.refuse)
    begins = first[1][first[1].rfind("\n") :] + "{" if "\n" in first[1] else "\n{"
    at, number, broken = first.end() - 1, 0, 0
    while at < len(text) and text[at] not in "]":
        number += 1
        try:
            element, at = decoder.raw_decode(text, at)
            yield _made(f"record {number}", element)
        except (ValueError, RecursionError) as problem:
            broken += 1
            where = f"record {number} (line {text.count(chr(10), 0, at) + 1})"
            at = text.find(begins, at + 1)
            rest = "" if at >= 0 and broken < BROKEN else "; what follows it cannot be read"
            yield where, f"not JSON: {problem}{rest}"
            if rest:
                return
            at += len(begins) - 1
            continue
        while at < len(text) and text[at] in ", \t\n":
            at += 1
