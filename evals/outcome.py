"""What a verb of `confab eval` has to say."""

from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """`data` is what --json prints, `text` what a person reads, `code` the exit code."""

    data: Any
    text: str
    code: int = 0


WANTING = 5
"""Exit code of a gate that fails."""
