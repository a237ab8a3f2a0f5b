"""A post of proceedings.mlr.press: YAML front matter between two lines of dashes."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from ingest.record import Record

LONGEST = 100_000
_LEFT_OUT = ("bibtex_author", "layout", "issued", "cycles", "extras", "order", "month", "genre", "tex_title", "date",
             "abstract", "author", "container-title", "issn", "firstpage", "lastpage", "editor", "address")  # fmt: skip
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str) -> Iterator[Record | tuple[str, str]]:
    """One record; (where, reason) where the front matter cannot be read."""
    matter = re.split(r"^---\s*$", text.lstrip()[4:], maxsplit=1, flags=re.M)[0]
    where = "line 1"
    if len(matter) > LONGEST:
        yield where, f"front matter of more than {LONGEST:,} characters"
        return
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(matter, Loader=_LOADER)):
            yield where, "the YAML refers to itself, which no front matter needs"  # a few lines can be gigabytes
            return
        fields = yaml.load(matter, Loader=_LOADER)  # noqa: S506 - the safe loader, in C where there is one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield where, f"not YAML: {' '.join(str(error).split()):.200}"
        return
    yield Record(where=where, fields=_fields(fields)) if isinstance(fields, dict) else (where, "no fields in the YAML")


def _fields(post: dict[Any, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {str(name): value if isinstance(value, (int, str, list)) else str(value)
           for name, value in post.items() if name not in _LEFT_OUT and value not in (None, "", [])}  # fmt: skip
    volume, key = post.get("volume"), post.get("id")
    out |= {
        "title": post.get("title"),
        "abstract": post.get("abstract"),
        "authors": post.get("author"),
        "year": str(post.get("date", ""))[:4] or None,
        "venue": post.get("container-title"),
    }
    if volume and key:  # a key is unique within its volume only
        out |= {"id": f"v{volume}-{key}", "url": f"https://proceedings.mlr.press/v{volume}/{key}.html"}
    return {name: value for name, value in out.items() if value is not None}
