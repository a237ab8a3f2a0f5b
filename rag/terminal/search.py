"""`confab search`: the best papers for some words."""

import argparse
import asyncio

from rag.errors import UsageError
from rag.settings import Settings
from rag.terminal.narrow import add_filter_arguments, filter_of
from rag.terminal.printable import printable
from rag.types import Filter, SearchResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", help="words or a question, in quotes")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="papers to list (1 to 100; 10)")
    parser.add_argument("--json", action="store_true", help="print the body that GET /search answers")
    add_filter_arguments(parser)


def run(args: argparse.Namespace, settings: Settings) -> int:
    query = args.query.encode("utf-8", "replace").decode().strip()
    if not query or len(query) > settings.max_question_chars:
        raise UsageError(f"a query has 1 to {settings.max_question_chars} characters, this one has {len(query)}")
    if not 1 <= args.k <= 100:
        raise UsageError(f"-k is {args.k}; expected 1 to 100")
    result = asyncio.run(_search(settings, query, args.k, filter_of(args)))
    print(result.model_dump_json(indent=2) if args.json else printable(_readable(result)))
    return 0


async def _search(settings: Settings, query: str, k: int, filter: Filter) -> SearchResult:
    from rag.engine import open_engine

    engine = open_engine(settings)
    try:
        return await engine.search(query, k=k, filter=filter)
    finally:
        await engine.aclose()


def _readable(result: SearchResult) -> str:
    if not result.hits:
        return "No paper matches."
    lines = []
    for hit in result.hits:
        where = " ".join(str(part) for part in (hit.paper.venue, hit.paper.year) if part)
        lines += [f"{hit.rank:3}. {hit.paper.title} ({where}; {hit.paper.id})", f"     {hit.snippet.text}"]
    return "\n".join(lines)
