"""Lists of papercopilot: `status` says whether a paper was taken, `;` parts authors."""

from typing import Any

from ingest.read import site

_KEPT = ("keywords", "tldr", "session", "track", "openreview", "doi", "pid")


def matches(fields: dict[str, Any]) -> bool:
    return "track" in fields and "status" in fields and ("author" in fields or "author_site" in fields)


def read(fields: dict[str, Any]) -> dict[str, Any]:
    page = site.page(fields.get("site"))
    venue, year, _ = page or (None, fields.get("year"), None)
    out = {name: fields.get(name) for name in _KEPT}
    out |= {
        "id": site.numbered(fields.get("id"), venue, year),
        "title": fields.get("title"),
        "abstract": fields.get("abstract"),
        "authors": fields.get("author") or fields.get("author_site"),
        "venue": venue or fields.get("venue") or fields.get("conference"),
        "year": year,
        "url": fields.get("openreview") or site.tidy(fields.get("site")) or fields.get("oa") or fields.get("url"),
        "topic": fields.get("primary_area"),
        "decision": fields.get("status"),
    }
    return {name: value for name, value in out.items() if value not in (None, "", [], {})}
