"""The house rules that a machine can check on every committed file."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from rag.settings import Settings, env_name

ROOT = Path(__file__).parent.parent
LONGEST_FUNCTION = 60
FORBIDDEN = (
    *("/wor" + "k/", "/ro" + "ot/", "/far" + "m/"),
    *("python" + "hosted", "py" + "pi.org/simple", "registry.np" + "mjs", "deb.deb" + "ian.org"),
)
"""Written in halves, as this file is read too."""


def tracked(*patterns: str) -> list[Path]:
    """Committed files that are there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_no_committed_file_names_a_machine_or_a_registry() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in tracked()
        for text in [path.read_bytes().decode("utf-8", "replace")]
        for word in FORBIDDEN
        if word in text
    ]
    assert named == []


@pytest.mark.parametrize("room", ["rag", "ingest", "api", "evals"])
def test_no_function_of_the_product_is_longer_than_a_page(room: str) -> None:
    long = [
        f"{path.relative_to(ROOT)}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in tracked(f"{room}/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_only_settings_read_the_environment() -> None:
    """Others hand it on to a child, or set what a library reads."""
    reading = re.compile(r"environ\.get|environ\[[^]]+\](?! =)|getenv")
    readers = {
        path.relative_to(ROOT).as_posix()
        for room in ("rag", "ingest", "api", "evals")
        for path in tracked(f"{room}/*.py")
        if reading.search(path.read_text("utf-8"))
    }
    assert readers <= {"rag/settings.py"}


def test_every_setting_is_used() -> None:
    used = "\n".join(
        path.read_text("utf-8")
        for room in ("rag", "ingest", "api", "evals")
        for path in tracked(f"{room}/*.py")
        if path.name != "settings.py"
    )
    unused = [env_name(field) for field in Settings.model_fields if f".{field}" not in used]
    assert unused == []


def test_no_test_patches_our_code() -> None:
    patching = [
        path.name
        for path in tracked("tests/*.py")
        if any(word in path.read_text("utf-8") for word in ("unittest" + ".mock", "Magic" + "Mock", "mocker" + "."))
    ]
    assert patching == []
