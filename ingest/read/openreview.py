"""Notes of OpenReview: API 2 (`{"title": {"value": ...}}`), API 1, and miniconf lists that were made of them."""

import re
from typing import Any

from ingest.read import site

_NOISE = frozenset("_bibtex paperhash authorids pdf appendix poster slides supplementary_material original_pdf".split())
_MARKED = re.compile(r"(withdrawn|desk[_ ]reject\w*|reject(?:ed|ion)?)[_ ]*submission", re.I)
_SERIES = {"learning representations": "ICLR", "machine learning": "ICML", "neural information processing": "NeurIPS"}


def matches(fields: dict[str, Any]) -> bool:
    content = fields.get("content")
    return isinstance(content, dict) and ("title" in content or "abstract" in content)


def read(fields: dict[str, Any]) -> dict[str, Any]:
    """Ours, with `status` where the note is marked as withdrawn or rejected."""
    content = fields.get("content")
    flat = {name: value.get("value") if isinstance(value, dict) and "value" in value else value
            for name, value in (content if isinstance(content, dict) else fields).items()}  # fmt: skip
    forum = fields.get("forum") or fields.get("id")
    invitations = fields.get("invitations") or [fields.get("invitation")]
    told = [flat.get("venueid"), fields.get("domain"), *(invitations if isinstance(invitations, list) else [])]
    venue, year, _ = next((found for name in told if (found := site.group(name))), _cited(flat.get("_bibtex")))
    out = {name: value for name, value in flat.items() if name not in _NOISE}
    out |= {
        "id": forum,
        "topic": flat.get("primary_area") or flat.get("topic"),
        "url": f"https://openreview.net/forum?id={forum}" if forum else None,
        "status": _status(fields, flat, told),
    }
    said = flat.get("venue")
    if venue and not (isinstance(said, str) and str(year) in said):
        out |= {"venue": venue, "year": year}
    out.pop("primary_area", None)
    return {name: value for name, value in out.items() if value not in (None, "", [], {})}


def _status(note: dict[str, Any], flat: dict[str, Any], told: list[Any]) -> str | None:
    if note.get("ddate"):
        return "Deleted"
    if flat.get("withdrawal") or flat.get("withdrawal_confirmation"):
        return "Withdrawn"
    marked = next((found for name in told if isinstance(name, str) and (found := _MARKED.search(name))), None)
    return marked[1].replace("_", " ").capitalize() if marked else flat.get("status") or flat.get("decision")


def _cited(bibtex: Any) -> tuple[str | None, int | None, str | None]:
    """Venue and year of the citation that API 1 gives with a note."""
    if not isinstance(bibtex, str):
        return None, None, None
    year = re.search(r"year\s*=\s*\{(\d{4})\}", bibtex[:5000])
    venue = next((name for words, name in _SERIES.items() if words in bibtex[:5000].casefold()), None)
    return venue, int(year[1]) if year and venue else None, None
