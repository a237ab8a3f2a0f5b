"""The README is true: its generated parts are current, and each of its commands runs."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.readme import ROOT, commands, filled
from tests.servers import environment, wait_until

README = (ROOT / "README.md").read_text("utf-8")
SHELL = [command for command in commands(README) if not command.startswith("make")]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """`make run` as a newcomer types it, with a data folder and a port of its own; (address, environment)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data_dir = tmp_path_factory.mktemp("readme")
    env = environment(data_dir) | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    made = subprocess.Popen(
        ["make", "run", f"PORT={port}"], cwd=ROOT, env=env, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        wait_until(lambda: made.poll() is not None or _ready(port), 120, lambda: "make run did not get ready")
        assert made.poll() is None, made.communicate()[0]
        yield f"localhost:{port}", env
    finally:
        os.killpg(made.pid, signal.SIGTERM)
        made.communicate(timeout=30)


def _ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz/ready").status_code == 200
    except httpx.TransportError:
        return False


def test_the_generated_parts_are_current() -> None:
    assert filled(README) == README, "run `python -m tests.readme`"


def test_the_two_commands_are_make_run_and_make_test() -> None:
    assert [command for command in commands(README) if command.startswith("make")] == ["make run", "make test"]


@pytest.mark.parametrize("command", SHELL)
def test_each_command_of_the_readme_runs(command: str, running: tuple[str, dict[str, str]]) -> None:
    address, env = running
    if command.startswith("curl") and shutil.which("curl") is None:
        pytest.skip("NO CURL on this machine: the README's curl commands were not run")
    line = command.replace("localhost:8000", address)
    ran = subprocess.run(["bash", "-c", line], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
    if command.startswith("curl -s localhost:8000/chat"):
        body = json.loads(ran.stdout)
        assert body["answered"]
        assert body["citations"][0]["paper"]["id"] == "11b5845b2acf4c0a"
        assert any("30–55" in citation["quote"] for citation in body["citations"])


def test_a_second_make_run_ingests_nothing(running: tuple[str, dict[str, str]]) -> None:
    _, env = running
    again = ["confab", "ingest", "--if-empty", "ingest/lists/icml2026_sample.txt"]
    ran = subprocess.run(again, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0
    assert "there already" in ran.stdout
