"""The filter arguments that verbs share."""

import argparse
import re

from rag.errors import UsageError
from rag.types import Filter


def add_filter_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--venue", help="only this venue, such as ICML")
    parser.add_argument("--year", help="only this year, or a range such as 2020-2024")
    parser.add_argument("--author", help="only papers of this author")
    parser.add_argument("--topic", help="only this topic")
    parser.add_argument("--id", action="append", metavar="ID", help="only this paper (may be given more than once)")


def filter_of(args: argparse.Namespace) -> Filter:
    return Filter(
        venue=args.venue,
        year=years(args.year),
        author=args.author,
        topic=args.topic,
        ids=tuple(args.id) if args.id else None,
    )


def years(text: str | None) -> tuple[int, int] | None:
    """``"2026"`` and ``"2020-2024"`` as an inclusive range. Raises UsageError."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d{4})\s*(?:[-–:]\s*(\d{4})\s*)?", text)
    if found is None or int(found[1]) > int(found[2] or found[1]):
        raise UsageError(f"year is {text!r}; expected a year such as 2026 or a range such as 2020-2024")
    return int(found[1]), int(found[2] or found[1])
