"""Names of fields as lists spell them -> ours. docs/ingest.md shows this table."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("id", "paper_id", "uid", "forum", "event_id", "paper", "pmid", "arxiv_id", "doi"),
    "title": ("title", "paper_title", "name", "display_name", "primary_title", "document_title", "article_title",
              "标题", "题目", "论文标题"),
    "abstract": ("abstract", "paper_abstract", "abstract_text", "summary", "abstract_note", "abs", "description",
                 "notes_abstract", "text", "摘要"),
    "authors": ("authors", "author", "author_names", "author_list", "speakers/authors", "creators", "author_full_name",
                "first_authors", "author_site", "作者"),
    "year": ("year", "publication_year", "pub_year", "year_published", "publication_date", "pub_date", "published",
             "date", "issued", "update_date", "年份"),
    "venue": ("venue", "conference", "conference_name", "booktitle", "journal", "journal_name", "publication_name",
              "container_title", "publication_title", "source_title", "会议"),
    "url": ("url", "link", "paper_url", "openreview_url", "virtualsite_url", "site", "landing_page_url", "html_url",
            "pdf_url", "链接"),
    "topic": ("topic", "primary_area", "subject_area", "area"),
}  # fmt: skip
"""Ours -> the names it is known by, the first that holds something wins. Case, blanks and marks do not count:
`paperAbstract`, `Paper Abstract` and `paper_abstract` are one name."""

_OPENREVIEW = re.compile(r"https?://(?:www\.)?openreview\.net/(?:forum|pdf)\?id=([\w-]{5,40})")
_ARXIV = re.compile(r"https?://(?:www\.)?arxiv\.org/(?:abs|pdf)/([\w.-]+(?:/\d+)?)")
_YEAR = re.compile(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")


@lru_cache(maxsize=4096)
def spelled(name: str) -> str:
    """A name of a field, whatever its case and marks."""
    return re.sub(r"[\W_]+", "", name[:200]).casefold()


_PLACE = {spelled(name): (ours, rank) for ours, names in ALIASES.items() for rank, name in enumerate(names)}


def known(names: Iterable[str], mapping: Mapping[str, str]) -> set[str]:
    """Fields of ours among these names: what a header line tells."""
    given = {name: field for field, name in mapping.items()}
    places = ((name, _PLACE.get(spelled(name))) for name in names)
    found = (given.get(name) or (place[0] if place else None) for name, place in places)
    return {field for field in found if field}


def ours(fields: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, Any]:
    """The same record under our names; what has no place among them is kept under its own."""
    out = dict(fields)
    best: dict[str, tuple[int, str]] = {}
    for name, value in fields.items():
        place = _PLACE.get(spelled(name))
        if place is not None and value not in (None, "", [], {}):
            rank = -1 if name == place[0] else place[1]
            best[place[0]] = min(best.get(place[0], (len(_PLACE), "")), (rank, name))
    best |= {field: (-1, name) for field, name in mapping.items() if name in fields}
    for field, (rank, name) in best.items():
        if name != field:
            value = out.pop(name, fields[name])
            out[field] = _year(value) if field == "year" and rank > 0 else value
    if not out.get("id") and (identified := _identified(out.get("url"))):
        out["id"] = identified
    return out


def _year(value: Any) -> Any:
    """The year in a date; nothing where there is none."""
    found = _YEAR.search(str(value)[:40])
    return int(found[0]) if found else None


def _identified(url: Any) -> str | None:
    """A paper without an id that names its page on OpenReview or arXiv has theirs."""
    if not isinstance(url, str):
        return None
    if found := _OPENREVIEW.search(url):
        return found[1]
    found = _ARXIV.search(url)
    return re.sub(r"(?:v\d+)?(?:\.pdf)?$", "", found[1]) if found else None
