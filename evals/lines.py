"""Files of one JSON object (or one row) a line: read, with the line named where it is wrong.

Lines end at a line feed alone, as JSON Lines has it: U+2028, U+2029 and U+0085 may stand bare within a JSON string
(RFC 8259, section 7), and `str.splitlines` would break there.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rag.errors import InputError


def text_of(path: Path) -> str:
    """The UTF-8 text of a file, line ends as line feeds. Raises InputError where it is missing or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}); expected a UTF-8 file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start})") from None


def split(text: str) -> list[str]:
    """Lines without their line feeds; a line feed at the end starts no further line."""
    return text.removesuffix("\n").split("\n") if text else []


def lines_of(path: Path) -> list[str]:
    """Lines of a UTF-8 file. Raises InputError."""
    return split(text_of(path))


def decoded(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, also for one that nests deeper than Python's parser goes."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it nests too deep") from None


def objects(lines: Iterable[str], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line that is not blank. Raises InputError naming the line."""
    for number, line in enumerate(lines, 1):
        text = line.strip().removeprefix("\ufeff")
        if not text:
            continue
        try:
            value = decoded(text)
        except ValueError as error:
            raise InputError(f"{name} line {number}: not JSON ({error}); expected one object a line") from None
        if not isinstance(value, dict):
            raise InputError(f"{name} line {number}: expected a JSON object, got {type(value).__name__}")
        yield number, value


def explain(error: Exception) -> str:
    """What is wrong with a value, in one line: pydantic's own text carries addresses and echoes the input."""
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]!r}"
    if not isinstance(error, ValidationError):
        return str(error)
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    places = [(".".join(str(part) for part in problem["loc"]), problem["msg"]) for problem in problems]
    told = [f"{where}: {said}" if where else said for where, said in places]
    return "; ".join(one.replace("Value error, ", "") for one in told)
