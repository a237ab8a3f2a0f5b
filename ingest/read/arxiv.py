"""arXiv's metadata as objects: the Kaggle snapshot (`authors` one TeX string) and daily lists (`abs`, `summary`)."""

import re
from typing import Any

from ingest import tex

_NEW = re.compile(r"(\d\d)(\d\d)\.\d{4,5}")
_OLD = re.compile(r"[a-z-]+(?:\.[A-Z]{2})?/(\d\d)\d{5}")


def matches(fields: dict[str, Any]) -> bool:
    page = fields.get("abs")
    return "authors_parsed" in fields or ("journal-ref" in fields and "submitter" in fields) or (
        isinstance(page, str) and "arxiv.org/abs/" in page[:40])  # fmt: skip


def read(fields: dict[str, Any]) -> dict[str, Any]:
    id_ = re.sub(r"v\d+$", "", str(fields.get("id") or str(fields.get("abs", "")).rsplit("/abs/", 1)[-1]))
    out = {name: value for name, value in fields.items()
           if name not in ("abs", "pdf", "authors_parsed", "submitter", "versions", "summary")}  # fmt: skip
    title, people = fields.get("title"), fields.get("authors")
    out |= {
        "id": id_,
        "title": tex.accents(title) if isinstance(title, str) else title,
        "abstract": fields.get("abstract") or fields.get("summary"),
        "authors": _parsed(fields.get("authors_parsed")) or (
            tex.accents(people) if isinstance(people, str) else people),
        "year": year(id_),
        "venue": "arXiv",
        "url": f"https://arxiv.org/abs/{id_}",
    }  # fmt: skip
    return {name: value for name, value in out.items() if value not in (None, "", [], {})}


def year(id_: str) -> int | None:
    """The year a paper was first sent, which its number begins with."""
    if found := _NEW.fullmatch(id_):
        return 2000 + int(found[1])
    found = _OLD.fullmatch(id_)
    return (1900 if int(found[1]) > 90 else 2000) + int(found[1]) if found else None


def _parsed(value: Any) -> list[str]:
    """`[["Lee", "Ann", ""], ...]`."""
    if not isinstance(value, list):
        return []
    return [" ".join(filter(None, (str(part) for part in (*entry[1:2], *entry[:1], *entry[2:3]))))
            for entry in value if isinstance(entry, list)]  # fmt: skip
