"""CSV and TSV with a header line, with any delimiter; a row with another number of columns is set aside."""

import csv
from collections.abc import Generator, Iterator, Mapping
from typing import Any, Literal

from ingest.read import fields
from ingest.record import Record

DELIMITERS = ",\t;|"
MISSING = frozenset(("", "nan", "NaN", "None", "NULL", "null", "N/A", "NA"))
LONGEST_CELL = 4_000_000
RESTARTS = 20
"""Rows with a quote that never closes, after which the reading begins again a line further on."""


def delimiter(text: str, mapping: Mapping[str, str]) -> str | None:
    """What parts the columns of the first line; None where that names no title and no abstract."""
    header = text.lstrip("\n").split("\n", 1)[0]
    if len(header) > 10_000:
        return None
    best: tuple[int, int, str] | None = None
    for mark in DELIMITERS:
        names = _cells(header, mark)
        found = fields.known(names, mapping)
        if len(names) > 1 and found & {"title", "abstract"} and all(len(name) < 80 for name in names):
            best = max(best or (0, 0, ""), (len(found), len(names), mark))
    return best[2] if best else None


def _cells(line: str, mark: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=mark), [])]
    except csv.Error:
        return []


def read(text: str, mapping: Mapping[str, str]) -> Iterator[Record | tuple[str, str]]:
    """Records; for a row that does not fit the header, (where, reason)."""
    mark = delimiter(text, mapping) or _most(text)
    lines = text.split("\n")
    if mark != "\t":
        yield from _rows(lines, mark, csv.QUOTE_MINIMAL)
        return
    ways = [list(_rows(lines, mark, quoting)) for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)]
    yield from min(ways, key=lambda rows: sum(not isinstance(row, Record) for row in rows))


def _most(text: str) -> str:
    header = text.lstrip("\n").split("\n", 1)[0]
    return max(DELIMITERS, key=header.count)


def _rows(lines: list[str], mark: str, quoting: Literal[0, 3]) -> Iterator[Record | tuple[str, str]]:
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    names = _cells(lines[first], mark)
    at, restarts = first + 1, 0
    csv.field_size_limit(LONGEST_CELL)
    while at < len(lines):
        if restarts > RESTARTS:
            yield f"line {at + 1}", f"more than {RESTARTS} quotes before it never close; the rest is not read"
            return
        at = yield from _records(lines, at, csv.reader(_ended(lines, at), delimiter=mark, quoting=quoting), names)
        restarts += 1


def _ended(lines: list[str], at: int) -> Iterator[str]:
    return (lines[n] + "\n" for n in range(at, len(lines)))


def _records(
    lines: list[str], start: int, reader: Any, names: list[str]
) -> Generator[Record | tuple[str, str], None, int]:
    """What is made of each row; returns the line to begin again from, where a quote ran to the end of the file."""
    at = start
    while True:
        begin = at
        where = f"line {begin + 1}"
        try:
            row = next(reader)
        except StopIteration:
            return len(lines)
        except csv.Error as error:
            yield where, f"no row of a table: {error}"
            return begin + 1
        at = start + reader.line_num
        if not any(cell.strip() for cell in row):
            continue
        while len(row) > len(names) and not row[-1].strip():
            row.pop()
        if at >= len(lines) and at - begin > 2 and _open(lines[begin:], reader.dialect.delimiter):
            yield where, "a quote is opened and never closed"
            return begin + 1
        if len(row) == len(names):
            named = zip(names, row, strict=True)
            cells = {name: None if cell.strip() in MISSING else cell for name, cell in named if name}
            yield Record(where=where, fields=cells)
        else:
            yield where, f"{len(row)} columns where the header has {len(names)}"


def _open(lines: list[str], mark: str) -> bool:
    """Whether a row that runs to the end of the file has a quote that is not closed there."""
    try:
        list(csv.reader((line + "\n" for line in lines), delimiter=mark, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False
