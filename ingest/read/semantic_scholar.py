"""Papers as the Semantic Scholar API gives them; what they cite and what cites them are no papers of the list."""

from typing import Any

_LEFT_OUT = frozenset(
    "references citations embedding citationStyles publicationVenue journal externalIds paperId openAccessPdf "
    "s2FieldsOfStudy tldr corpusId".split()
)


def matches(fields: dict[str, Any]) -> bool:
    return isinstance(fields.get("paperId"), str) and not {"paper_id", "id"} & fields.keys()


def read(fields: dict[str, Any]) -> dict[str, Any]:
    out = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    ids = _object(fields.get("externalIds"))
    published = str(fields.get("publicationDate") or "")
    out |= {
        "id": fields.get("paperId"),
        "venue": _object(fields.get("publicationVenue")).get("name") or fields.get("venue")
        or _object(fields.get("journal")).get("name"),
        "year": fields.get("year") or published[:4],
        "doi": ids.get("DOI"),
        "arxiv": ids.get("ArXiv"),
        "tldr": _object(fields.get("tldr")).get("text"),
    }  # fmt: skip
    return {name: value for name, value in out.items() if value not in (None, "", [], {})}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
