"""Gold keys -> ids of papers in the index.

A key that is an id stays. A key of a keys file (``{"seed-01": {"sha256": ...}}`` or ``{"seed-01": "..."}``)
and a key ``sha256:DIGEST`` stand for the paper whose abstract has that digest (`rag.types.text_digest`):
first looked for under the id that an untitled list gives it (the first 16 digits), then among all papers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from evals.cases import Case
from evals.saved import read_json
from rag.errors import InputError, NotFound
from rag.types import Paper, text_digest

SHOWN = 8
ID_DIGITS = 16
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


class Library(Protocol):
    """The part of `rag.engine.QueryEngine` that knows papers."""

    def paper(self, paper_id: str) -> Paper: ...

    def papers(self) -> Iterator[Paper]: ...


def keys_file(path: Path) -> dict[str, str]:
    """Key -> SHA-256 of the abstract. Raises InputError."""
    out = {}
    for key, value in read_json(path).items():
        digest = value.get("sha256") if isinstance(value, dict) else value
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise InputError(f"{path.name}: {key!r} should have the 64 hex digits of a sha256, not {digest!r}")
        out[key] = digest.removeprefix("sha256:")
    return out


def resolve(
    cases: Sequence[Case], library: Library, keys: Mapping[str, str] | None = None, *, allow_missing: bool = False
) -> tuple[list[Case], list[str]]:
    """(cases with ids in place of keys, keys that no paper has). Raises InputError where gold is missing.

    With `allow_missing` only where most of it is: then the index is another one than the set is meant for.
    """
    named = list(dict.fromkeys(key for case in cases for key in _named(case)))
    ids, missing = _ids(named, library, keys or {})
    gold = {key for case in cases for key in case.gold}
    lost = [key for key in missing if key in gold]
    if lost and (not allow_missing or 2 * len(lost) > len(gold)):
        shown = ", ".join(lost[:SHOWN]) + (f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else "")
        raise InputError(
            f"{len(lost)} of {len(gold)} gold papers are not in the index: {shown}. Is this the index the set is meant "
            "for? Give --keys FILE where gold are keys, or --allow-missing to count them as misses"
        )
    return [_with_ids(case, ids) for case in cases], missing


def _named(case: Case) -> Iterable[str]:
    return (*case.gold, *case.optional, *case.near)


def _with_ids(case: Case, ids: Mapping[str, str]) -> Case:
    def mapped(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ids.get(name, name) for name in names))

    return case.model_copy(
        update={
            "gold": mapped(case.gold),
            "optional": mapped(case.optional),
            "near": mapped(case.near),
            "grades": {ids.get(name, name): grade for name, grade in case.grades.items()},
        }
    )


def _ids(names: Sequence[str], library: Library, keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """(key -> id, keys not found). All papers are read only when a digest is not found under its own id."""
    ids: dict[str, str] = {}
    digests: dict[str, str] = {}
    missing = []
    for name in names:
        match = _DIGEST.fullmatch(keys.get(name, name))
        if _has(library, name):
            ids[name] = name
        elif match and _has(library, match[1][:ID_DIGITS], match[1]):
            ids[name] = match[1][:ID_DIGITS]
        elif match:
            digests[name] = match[1]
        else:
            missing.append(name)
    if digests:
        by_digest = {text_digest(paper.abstract): paper.id for paper in library.papers()}
        ids |= {name: by_digest[digest] for name, digest in digests.items() if digest in by_digest}
        missing += [name for name, digest in digests.items() if digest not in by_digest]
    return ids, missing


def _has(library: Library, paper_id: str, digest: str | None = None) -> bool:
    try:
        paper = library.paper(paper_id)
    except NotFound:
        return False
    return digest is None or text_digest(paper.abstract) == digest
