"""Which form a text has, by its content. Pure."""

import json
import re
from collections.abc import Mapping

from ingest.read import table
from rag.errors import InputError

HEAD = 20_000
"""Characters that are looked at."""

_BIBTEX = re.compile(r"^[ \t]*@[A-Za-z]+[ \t]*[{(]", re.M)
_RIS = re.compile(r"^[ \t]*TY {1,2}- ?[A-Z]", re.M)
_WOS = re.compile(r"^(?:FN [^\n]*\n(?:VR [^\n]*\n)?)?PT [A-Z]\n(?:[A-Z][A-Z0-9] |   )", re.M)
_PUBMED = re.compile(r"^PMID- ?\d", re.M)
_ENDNOTE = re.compile(r"^%0 [A-Z]", re.M)
_ARRAY = re.compile(r"\[\s*(?:[{\]]|null\b)")


def form(text: str, mapping: Mapping[str, str], name: str) -> str:
    """A name of `source.READERS`. Raises InputError for what is known and cannot be read."""
    head = text[:HEAD].lstrip()
    if head.count("\0") * 10 > len(head):
        raise InputError(f"{name} is no text; give a paper list as text, JSON, CSV, BibTeX or RIS")
    if head.startswith("---\n") and re.search(r"^title\s*:", head, re.M) and "\n---" in text[4:]:
        return "pmlr"
    if head.startswith("<"):
        return _marked(head, name)
    if _ARRAY.match(head):
        return "json"
    if head.startswith("{"):
        return "jsonl" if _one_a_line(text) else "json"
    for pattern, found in ((_WOS, "wos"), (_RIS, "ris"), (_PUBMED, "pubmed"), (_ENDNOTE, "endnote")):
        if pattern.search(head):
            return found
    if table.delimiter(text, mapping) is not None:
        return "csv"
    if _BIBTEX.search(head) and _mostly_bibtex(head):
        return "bibtex"
    return "jsonl" if _one_a_line(text) else "plain"


def _mostly_bibtex(head: str) -> bool:
    """Entries with a key and a field; a mention of @user{...} in an abstract is none."""
    return re.search(r"@[A-Za-z]+[ \t]*[{(][^=@]{0,300}=", head) is not None or head.startswith("@")


def _marked(head: str, name: str) -> str:
    if "<feed" in head[:2000]:
        return "atom"
    if head.startswith(("<?xml", "<!DOCTYPE", "<!doctype", "<html", "<xml", "<rss", "<svg")):
        raise InputError(
            f"{name} is XML or HTML of a kind that Confab cannot read (of XML it reads arXiv's Atom); "
            "export the list as JSON, CSV, BibTeX or RIS"
        )
    return "plain"


def _one_a_line(text: str) -> bool:
    """Whether most lines are objects of their own, as far as one looks."""
    lines = [line.strip() for line in text[: HEAD * 5].split("\n", 40)[:40] if line.strip()]
    if not lines:
        return False
    whole = sum(line.startswith("{") and line.endswith("}") for line in lines)
    if len(lines) > 1:
        return whole * 2 >= len(lines) or (lines[0].startswith("{") and lines[1].startswith("{"))
    return lines[0].startswith("{") and not _wraps(text)


def _wraps(text: str) -> bool:
    """One line that is an object around the list."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
