"""Authors in whatever way a list gives them -> names. Pure."""

import ast
import json
import re
from typing import Any

from ingest import tex
from ingest.markup import line

_KEYS = ("name", "fullname", "full_name", "display_name", "raw_author_name", "literal")
_INITIALS = re.compile(r"(?:[A-Z]\.?[- ]?){1,4}")
_MOST = 20_000


def authors(value: Any) -> tuple[str, ...]:
    """Names from a list of names or objects, or from one string. Raises ValueError for anything else."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = _listed(value) or split(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"authors is {value!r:.60}; a list of names was expected")
    named = (_tidy(_name(entry, value)) for entry in value)
    return tuple(name for name in named if name)


def _name(entry: Any, whole: Any) -> str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, dict):
        if isinstance(entry.get("author"), (dict, str)):
            return _name(entry["author"], whole)
        for key in _KEYS:
            if isinstance(entry.get(key), str):
                return str(entry[key])
        given, family = (entry.get(a) or entry.get(b) for a, b in (("given", "first"), ("family", "last")))
        if isinstance(family, str):
            return f"{given} {family}" if isinstance(given, str) else family
    raise ValueError(f"authors is {whole!r:.60}; a list of names was expected")


def _tidy(name: str) -> str:
    if any("\ud800" <= c <= "\udfff" for c in name):
        raise ValueError("authors holds half a character (a lone surrogate)")
    name = tex.named(name) if "\\" in name or "{" in name else name
    return line(name).rstrip("*†‡§¶ ,;")


def _listed(text: str) -> list[Any] | None:
    """A list that was written as text: `["Ann Lee"]`, or as Python shows it."""
    if not (text.lstrip().startswith("[") and text.rstrip().endswith("]")) or len(text) > _MOST:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list):
            return value
    return None


def split(text: str) -> list[str]:
    """Names in one string, parted by ; or | or "and" or commas; ``Lee, Ann and Wu, Bo`` as bibliographies write it."""
    for mark in (";", "|", "\n"):
        if mark in text:
            return [turned(part) for part in text.split(mark)]
    parts = re.split(r"\s+and\s+|\s*&\s+", text)
    if len(parts) > 1 and not any(_several(part) for part in parts):
        return [turned(part) for part in parts]
    return [name for part in parts for name in _by_commas(part)]


def _several(part: str) -> bool:
    """More than one name between commas (`Ann Lee, Bo Wu`), not one turned round (`Lee, Ann`)."""
    pieces = [piece for piece in part.split(",") if piece.strip()]
    return len(pieces) > 2 or (len(pieces) == 2 and all(len(piece.split()) > 1 for piece in pieces))


def _by_commas(text: str) -> list[str]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    second = pieces[1::2]
    if second and len(pieces) % 2 == 0 and all(_INITIALS.fullmatch(piece) for piece in second):
        return [f"{first} {last}" for last, first in zip(pieces[::2], second, strict=True)]
    if len(pieces) == 2 and not _several(text):
        return [turned(text)]
    return pieces


def turned(name: str) -> str:
    """``Lee, Ann`` -> ``Ann Lee``; a name without one comma stays."""
    last, comma, first = name.partition(",")
    return f"{first.strip()} {last.strip()}" if comma and first.strip() and "," not in first else name.strip()
