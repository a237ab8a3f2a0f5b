"""docs/ingest.md is true: its tables are those of the code and of the tests."""

import re
import sys
from pathlib import Path

from ingest.read import fields, source
from tests.test_read_samples import EXPECTED

DOCS = Path(__file__).parent.parent / "docs" / "ingest.md"


def names() -> str:
    rows = [f"| `{ours}` | {' '.join(f'`{name}`' for name in known)} |" for ours, known in fields.ALIASES.items()]
    return "\n".join(["| field | known by |", "| --- | --- |", *rows])


def samples() -> str:
    rows = [f"| {name} | `{form}` | {papers} | {aside} |" for name, (form, papers, aside) in EXPECTED.items()]
    return "\n".join(["| sample | form | papers | set aside |", "| --- | --- | --- | --- |", *rows])


def filled(text: str) -> str:
    for part, table in (("names", names()), ("samples", samples())):
        block = f"<!-- {part} -->\n{table}\n<!-- /{part} -->"
        text = re.sub(rf"<!-- {part} -->.*?<!-- /{part} -->", lambda _, block=block: block, text, flags=re.S)
    return text


def test_the_tables_are_current() -> None:
    text = DOCS.read_text("utf-8")
    assert filled(text) == text, "run `python -m tests.test_read_docs`"


def test_every_form_is_described() -> None:
    text = DOCS.read_text("utf-8")
    assert all(f"`{form}`" in text for form in source.forms())


if __name__ == "__main__":
    DOCS.write_text(filled(DOCS.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{DOCS.name} written\n")
