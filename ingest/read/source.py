"""A file of any known form -> its Records. The form is found by content, not by name."""

import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from ingest.read import atom, bibtex, detect, document, fields, jsonl, plain, pmlr, ris, shapes, table, tagged
from ingest.record import Reading, Record, Rejected
from rag.errors import ConfabError, InputError, NotFound

LARGEST = 4_000_000_000
RATIO = 200
"""Text compresses ten times, a bomb a thousand times."""
BEGINS = {"plain": "\n\n", "csv": "\n", "tsv": "\n", "bibtex": "@", "ris": "\nTY", "wos": "\nPT ", "pubmed": "\nPMID",
          "endnote": "\n%0 "}  # fmt: skip
"""What begins an entry, to count entries by before they are read."""
CROWD, SHORTEST_ENTRY = 20_000, 20
"""Entries, and characters an entry, below which a longer file is refused."""

STDIN = "-"
AS_FOUND = Reading()

Entry = Record | tuple[str, str]
"""What a reader makes of an entry: a record, or (where, reason)."""

READERS: Mapping[str, Callable[[str, Mapping[str, str]], Iterator[Entry]]] = {
    "plain": lambda text, _: plain.read(text),
    "lines": lambda text, _: plain.read_lines(text),
    "json": lambda text, _: document.read(text),
    "jsonl": lambda text, _: jsonl.read(text),
    "csv": table.read,
    "tsv": table.read,
    "bibtex": lambda text, _: bibtex.read(text),
    "ris": lambda text, _: ris.read(text),
    "wos": lambda text, _: ris.read_wos(text),
    "pubmed": lambda text, _: tagged.read_pubmed(text),
    "endnote": lambda text, _: tagged.read_endnote(text),
    "atom": lambda text, _: atom.read(text),
    "pmlr": lambda text, _: pmlr.read(text),
}
"""Form -> its reader; the forms of `shapes.SHAPES` come in files of these."""

_OTHERS = {b"%PDF": "a PDF", b"PK\x03\x04": "a zip file (or an Excel or Word file)", b"\xd0\xcf\x11\xe0": "an old "
           "Excel or Word file", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd"}  # fmt: skip
_BYTES = re.compile("[\udc80-\udcff]")


def forms() -> tuple[str, ...]:
    """All names for `--format`."""
    return (*READERS, *shapes.SHAPES)


def read(path: Path, how: Reading = AS_FOUND, *, stdin: BinaryIO | None = None) -> Iterator[Record | Rejected]:
    """Every entry of the file, or of standard input for `-`. Raises NotFound and InputError, naming the file."""
    if str(path) == STDIN:
        yield from read_bytes((stdin or sys.stdin.buffer).read(LARGEST + 1), name(path), how)
        return
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"there is no file {str(path)!r}; give the path of a paper list, or - for standard input"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    yield from read_bytes(raw, name(path), how)


def name(path: Path) -> str:
    """How a list is called in reports."""
    return "standard input" if str(path) == STDIN else path.name


def read_bytes(raw: bytes, name: str, how: Reading = AS_FOUND) -> Iterator[Record | Rejected]:
    """Every entry of a list. Raises InputError, naming it."""
    text, whole = _decode(unzip(raw, name), name)
    if not text.strip():
        raise InputError(f"{name} is empty; expected a paper list (text, JSON, CSV, BibTeX, RIS ...)")
    form = how.form if how.form and how.form in READERS else detect.form(text, how.mapping, name)
    try:
        _refuse_crowd(text.count(BEGINS[form]) if form in BEGINS else 0, text)
        for number, entry in enumerate(READERS[form](text, how.mapping)):
            _refuse_crowd(number, text)
            yield _entry(entry, name, how, whole)
    except ConfabError as error:
        raise InputError(f"{name}: {error.message}") from None
    except Exception as error:  # what a parser of others raises on hostile input is not known
        raise InputError(f"{name} cannot be read as {form} ({type(error).__name__}: {error!s:.200})") from error


def _refuse_crowd(entries: int, text: str) -> None:
    """What has a title or an abstract is longer than this; a file of millions of `{}` is no list."""
    if entries > CROWD and entries * SHORTEST_ENTRY > len(text):
        raise InputError(f"more than {entries:,} entries in {len(text):,} characters are no list of papers")


def _entry(entry: Entry, name: str, how: Reading, whole: bool) -> Record | Rejected:
    if not isinstance(entry, Record):
        return Rejected(source=name, where=entry[0], reason=_shown(entry[1]))
    if not whole and (bad := _BYTES.search(json.dumps(entry.fields, ensure_ascii=False, default=str))):
        reason = f"not UTF-8 (byte 0x{ord(bad[0]) - 0xDC00:02x}); save the list as UTF-8"
        return Rejected(source=name, where=entry.where, reason=reason)
    named = fields.ours(shapes.shaped(entry.fields, how.form), how.mapping)
    return Record.model_construct(where=entry.where, fields=named)  # `entry` was checked


def _shown(reason: str) -> str:
    return reason.encode("utf-8", "replace").decode()


def unzip(raw: bytes, name: str, largest: int = LARGEST) -> bytes:
    """What a gzip file holds; other bytes as they are. Raises InputError for a bomb, by ratio or by size."""
    for magic, kind in _OTHERS.items():
        if raw.startswith(magic):
            raise InputError(f"{name} is {kind}; save the list as text, CSV, JSON, BibTeX or RIS (gzip or not)")
    most = min(largest, max(1_000_000, RATIO * len(raw)))
    if raw[:2] == b"\x1f\x8b":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
                raw = file.read(most + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name} is no whole gzip file: {error}") from None
        if raw[:2] == b"\x1f\x8b":
            raise InputError(f"{name} is gzip inside gzip; unpack it once")
        if len(raw) > most and most < largest:
            raise InputError(
                f"{name} unpacks to more than {RATIO} times its size; it is refused as a decompression bomb"
            )
    if len(raw) > largest:
        raise InputError(f"{name} is larger than {largest:,} bytes; give it in parts")
    return raw


def _decode(data: bytes, name: str) -> tuple[str, bool]:
    """The text, and whether it was whole; where it was not, the bytes that are no UTF-8 stand in it as surrogates."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text, whole = data.decode("utf-16", "replace"), True
    else:
        try:
            text, whole = data.decode("utf-8-sig"), True
        except UnicodeDecodeError:
            text, whole = data.decode("utf-8-sig", "surrogateescape"), False
    return text.replace("\r\n", "\n").replace("\r", "\n"), whole
