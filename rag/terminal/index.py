"""`confab index`: the generations that there are."""

import argparse
import json

from rag.errors import Corrupt
from rag.settings import Settings
from rag.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|verify|rollback|purge")
    actions.add_parser("list", help="all generations; * marks the one that is served")
    for name, what in (
        ("verify", "check files, counts and vectors of a generation (the served one where none is named)"),
        ("rollback", "serve an older generation (the one before the served where none is named)"),
    ):
        actions.add_parser(name, help=what).add_argument("generation", nargs="?", help="its name, such as gen-000001")
    actions.add_parser("purge", help="remove every generation but the one that is served, texts and all")
    for action in actions.choices.values():
        action.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace, settings: Settings) -> int:
    store = Store(settings)
    return {"list": _list, "verify": _verify, "rollback": _rollback, "purge": _purge}[args.action](store, args)


def _list(store: Store, args: argparse.Namespace) -> int:
    current = store.current()
    rows = []
    for name in store.names():
        manifest = store.manifest(name)
        shown = manifest.model_dump(include={"created", "papers", "passages", "embedding", "sources"}, mode="json")
        rows.append({"generation": name, "current": name == current, **shown})
    if args.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        for row in rows:
            mark = "*" if row["current"] else " "
            print(f"{mark} {row['generation']}  {row['created']}  {row['papers']} papers  {row['embedding']}")
        if not rows:
            print("No generation yet; `confab ingest PATH` makes one.")
    return 0


def _verify(store: Store, args: argparse.Namespace) -> int:
    name = args.generation or store.served()
    problems = store.verify_all(name)
    if args.json:
        print(json.dumps({"generation": name, "problems": problems}, indent=2))
    else:
        print("\n".join(problems) if problems else f"{name} is whole.")
    return Corrupt.exit_code if problems else 0


def _rollback(store: Store, args: argparse.Namespace) -> int:
    with store.writer():
        name = store.rollback(args.generation)
    print(json.dumps({"generation": name}) if args.json else f"{name} is served now.")
    return 0


def _purge(store: Store, args: argparse.Namespace) -> int:
    with store.writer():
        gone = store.purge()
    print(json.dumps({"removed": gone}) if args.json else f"Removed: {', '.join(gone) or 'nothing'}.")
    return 0
