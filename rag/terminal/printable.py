"""Text that a terminal shows and does not obey."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Without control characters: an abstract may hold the bytes that colour, move or ring a terminal."""
    return _CONTROL.sub("", text)
