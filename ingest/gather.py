"""Lists -> the papers in them, where each stands, and the records that are none."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ingest.clean import ID_DIGITS, clean
from ingest.read import source
from ingest.record import Reading, Rejected
from rag.text import fold
from rag.types import Paper, text_digest


@dataclass
class Gathered:
    """`places[n]` is (list, where) of `papers[n]`."""

    papers: list[Paper] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def read(self) -> int:
        return len(self.papers) + len(self.rejected)


def gather(paths: Sequence[Path], how: Reading = source.AS_FOUND) -> Gathered:
    """Every paper of the lists, and every record that is none with its reason. Raises NotFound, InputError."""
    out = Gathered()
    first: dict[str, Paper] = {}
    for path in paths:
        name = source.name(path)
        for record in source.read(path, how):
            made = record
            if not isinstance(made, Rejected):
                cleaned = clean(made, name, keep_title_only=how.keep_title_only)
                if not isinstance(cleaned, Rejected):
                    out.papers.append(_distinct(first.setdefault(cleaned.id, cleaned), cleaned))
                    out.places.append((name, made.where))
                    continue
                made = cleaned
            out.rejected.append(made)
    return out


def _distinct(first: Paper, paper: Paper) -> Paper:
    """An id that a list gives to another paper too (a line number, a key used twice) names neither's text: the later
    paper is named by its text, so that none is lost. The same title, or the same text, is the same paper."""
    if first.title_derived or paper.title_derived or _told(first.title) == _told(paper.title):
        return paper
    digest = text_digest(paper.abstract)
    return paper if digest == text_digest(first.abstract) else paper.model_copy(update={"id": digest[:ID_DIGITS]})


def _told(title: str | None) -> str:
    return "".join(filter(str.isalnum, fold(title or "")))
