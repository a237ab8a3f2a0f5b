"""`confab config show`: every setting as it stands, secrets masked."""

import argparse
import json

from rag.settings import Settings, shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["show"], help="print every setting with its value")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace, settings: Settings) -> int:
    values = shown(settings)
    if args.json:
        print(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        for name, value in values.items():
            print(f"{name}={'' if value is None else value}")
    return 0
