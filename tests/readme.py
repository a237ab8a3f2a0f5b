"""The generated parts of the README: `python -m tests.readme` writes them, tests/test_readme.py checks them."""

import re
from pathlib import Path

from rag.settings import example, table

ROOT = Path(__file__).parent.parent


def filled(text: str) -> str:
    """The README with the settings table as the code has it."""
    return re.sub(r"(<!-- settings -->\n).*?(<!-- /settings -->)", lambda m: f"{m[1]}{table()}{m[2]}", text, flags=re.S)


def commands(text: str) -> list[str]:
    """Every command of the README's shell blocks, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.S | re.M)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text("utf-8")), "utf-8")
    (ROOT / ".env.example").write_text(example(), "utf-8")
