"""The sites icml.cc, neurips.cc and iclr.cc: events of a conference, of which the posters and talks are papers."""

from typing import Any

from ingest.read import site

_KEPT = ("keywords", "session", "decision", "institutions", "poster_position", "pos", "paper_url")


def matches(fields: dict[str, Any]) -> bool:
    names = {"virtualsite_url", "speakers/authors", "event_type", "eventtype"}
    return bool(names & fields.keys()) or {"en", "abs", "authors"} <= fields.keys()


def read(fields: dict[str, Any]) -> dict[str, Any]:
    """Ours, with `event_type` ("Poster", "Tutorial", ...), which tells whether it is a paper."""
    said = fields.get("virtualsite_url") or fields.get("url")
    held = site.group(fields.get("sourceurl"))
    if isinstance(said, str) and said.startswith("/") and held:
        said = f"https://{held[0].casefold()}.cc{said}"
    page = site.page(said)
    venue, year = page[:2] if page else held[:2] if held else (fields.get("venue"), fields.get("year"))
    out = {name: fields.get(name) for name in _KEPT}
    number = fields.get("id") or fields.get("event_id") or (page[2] if page else None)
    out |= {
        "id": site.numbered(number, venue, year),
        "title": fields.get("title") or fields.get("name") or fields.get("en"),
        "abstract": fields.get("abstract") or fields.get("abs"),
        "authors": fields.get("authors") or fields.get("speakers/authors"),
        "venue": venue,
        "year": year,
        "url": site.tidy(said) or fields.get("paper_url"),
        "topic": fields.get("topic"),
        "event_type": fields.get("event_type") or fields.get("eventtype") or fields.get("type"),
    }
    return {name: value for name, value in out.items() if value not in (None, "", [], {})}
