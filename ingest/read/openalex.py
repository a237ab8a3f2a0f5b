"""Works as the OpenAlex API gives them: the abstract is an index of words to their places."""

from typing import Any

LONGEST = 50_000
"""Words of an abstract; more is no abstract."""


def matches(fields: dict[str, Any]) -> bool:
    return "abstract_inverted_index" in fields


def read(fields: dict[str, Any]) -> dict[str, Any]:
    id_ = fields.get("id")
    location = _object(fields.get("primary_location"))
    doi = fields.get("doi")
    out = {
        "id": str(id_).rsplit("/", 1)[-1] if id_ else doi,
        "title": fields.get("title") or fields.get("display_name"),
        "abstract": words(fields.get("abstract_inverted_index")),
        "authors": [_object(entry).get("author") for entry in fields.get("authorships") or []],
        "year": fields.get("publication_year"),
        "venue": _object(location.get("source")).get("display_name"),
        "url": location.get("landing_page_url") or doi or id_,
        "topic": _object(fields.get("primary_topic")).get("display_name"),
        "doi": doi,
        "type": fields.get("type"),
        "language": fields.get("language"),
        "status": "Retracted" if fields.get("is_retracted") else None,
    }
    return {name: value for name, value in out.items() if value not in (None, "", [])}


def words(index: Any) -> str | None:
    """The words in order. Places that are no numbers, or too many, make no abstract."""
    if not isinstance(index, dict):
        return None
    placed = [(place, word) for word, places in index.items() if isinstance(places, list)
              for place in places if isinstance(place, int)]  # fmt: skip
    if len(placed) > LONGEST:
        return None
    return " ".join(word for _, word in sorted(placed, key=lambda pair: pair[0]))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
