"""A file of any known form -> its Records. The form is found by content, not by name."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from ingest.read import jsonl, plain
from ingest.record import Record, Rejected
from rag.errors import InputError, NotFound

LARGEST = 4_000_000_000
RATIO = 200
"""Text compresses ten times, a bomb a thousand times."""


def read(path: Path) -> Iterator[Record | Rejected]:
    """Every entry of the file. Raises NotFound and InputError, naming the file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {str(path)!r}; give the path of a paper list (text or JSONL)") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    yield from read_bytes(raw, path.name)


def read_bytes(raw: bytes, name: str) -> Iterator[Record | Rejected]:
    text = _decode(_unzip(raw, name), name)
    if not text.strip():
        raise InputError(f"{name} is empty; expected a paper list (text or JSONL)")
    if text.lstrip().startswith(("[{", "[\n", "<?xml", "<!DOCTYPE", "@")):
        raise InputError(f"{name} is {_kind(text)}, which Confab cannot read yet; give plain text or JSON Lines")
    for entry in jsonl.read(text) if text.lstrip().startswith("{") else plain.read(text):
        yield entry if isinstance(entry, Record) else Rejected(source=name, where=entry[0], reason=entry[1])


def _kind(text: str) -> str:
    return {"[": "a JSON array", "<": "XML or HTML", "@": "BibTeX"}[text.lstrip()[0]]


def _unzip(raw: bytes, name: str) -> bytes:
    if raw[:2] != b"\x1f\x8b":
        return raw
    most = min(LARGEST, max(1_000_000, RATIO * len(raw)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            data = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is no whole gzip file: {error}") from None
    if len(data) > most:
        raise InputError(f"{name} unpacks to more than {RATIO} times its size; it is refused as a decompression bomb")
    return data


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{name}, line {line}: not UTF-8 (byte {error.start}); save the list as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
