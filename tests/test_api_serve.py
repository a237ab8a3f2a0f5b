"""`confab serve` as a process of its own: where it listens, how it ends, what it says."""

import json
import re
import signal
import socket
from pathlib import Path

import httpx

from tests.servers import confab, service


def test_it_listens_on_loopback_says_so_and_ends_well_on_sigterm(tmp_path: Path) -> None:
    with service(tmp_path, ready=False) as running:
        assert running.url.startswith("http://127.0.0.1:")
        assert "this machine only" in running.lines[0]
        assert httpx.get(f"{running.url}/healthz/ready").status_code == 503
        assert running.stop() == 0
    assert "Traceback" not in "".join(running.lines)


def test_programs_are_told_the_address_as_json(tmp_path: Path) -> None:
    with service(tmp_path, "--json", ready=False) as running:
        assert running.process.stdout is not None
        assert json.loads(running.process.stdout.readline()) == {"url": running.url, "loopback_only": True}


def test_ctrl_c_ends_it_well_too(tmp_path: Path) -> None:
    with service(tmp_path, ready=False) as running:
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(20) == 0


def test_beyond_loopback_it_warns_and_takes_any_host_name(tmp_path: Path) -> None:
    with service(tmp_path, "--host", "0.0.0.0", ready=False) as running:
        assert "EVERYONE" in running.lines[0]
        assert httpx.get(f"{running.url}/healthz/live", headers={"host": "papers.example"}).status_code == 200


def test_a_port_that_is_taken_is_one_clear_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = confab("serve", "--port", str(port), data_dir=tmp_path)
    assert ended.returncode == 7
    assert f"port {port} of 127.0.0.1" in ended.stderr
    assert "--port" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_host_that_is_not_here_is_one_clear_sentence(tmp_path: Path) -> None:
    ended = confab("serve", "--host", "nowhere.invalid", data_dir=tmp_path)
    assert ended.returncode == 2
    assert "'nowhere.invalid'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_log_has_a_line_a_request_and_no_question(tmp_path: Path) -> None:
    with service(tmp_path, ready=False) as running:
        httpx.get(f"{running.url}/search?q=secretquestion", headers={"x-request-id": "r-1"})
        httpx.post(f"{running.url}/chat", json={"question": "secretquestion"})
        httpx.post(f"{running.url}/chat", json={"question": "secretquestion", "secretfield": 1})
        httpx.get(f"{running.url}/papers/a%0ab%1b[31m")
        assert running.stop() == 0
    log = "".join(running.lines)
    assert re.search(r"api\.request method=GET path=/search status=503 ms=[\d.]+ id=r-1\n", log)
    assert "path=/papers/a%0ab%1b[31m status=404" in log
    assert "secret" not in log
