"""`confab show`: one paper, its abstract verbatim."""

import argparse

from rag.errors import NotFound
from rag.settings import Settings
from rag.store import Store
from rag.terminal.printable import printable
from rag.types import Paper


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the paper's id, as search and citations print it")
    parser.add_argument("--json", action="store_true", help="print the body that GET /papers/{id} answers")


def run(args: argparse.Namespace, settings: Settings) -> int:
    catalog = Store(settings).catalog()
    paper = catalog.paper(args.id.encode("utf-8", "replace").decode())
    if paper is None:
        raise NotFound(f"there is no paper {args.id!r} in the index; `confab search WORDS` finds ids")
    print(paper.model_dump_json(indent=2) if args.json else printable(_readable(paper)))
    return 0


def _readable(paper: Paper) -> str:
    where = " ".join(str(part) for part in (paper.venue, paper.year) if part)
    head = [f"{paper.title}{' (name taken from the abstract)' if paper.title_derived else ''}"]
    head += [line for line in (", ".join(paper.authors), where, paper.topic, paper.url) if line]
    return "\n".join((*head, "", paper.abstract))
