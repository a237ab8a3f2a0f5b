"""A full disk and a disk that cannot be written: clear words, nothing lost, and what was served is served still."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.settings import Settings
from tests.conftest import SAMPLE_LIST
from tests.servers import confab

QUESTION = "How much does COFT reduce standard bias metrics?"
MORE = "We prune very large networks without retraining them and lose nothing that a careful test could find.\n"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own; mounting one needs root."""
    place = tmp_path / "disk"
    place.mkdir()
    if shutil.which("mount") is None or _mount("-t", "tmpfs", "-o", "size=60m", "tmpfs", str(place)):
        pytest.skip("FULL AND READ-ONLY DISKS ARE NOT TESTED: no disk can be mounted here (it needs root)")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], capture_output=True).returncode


def _fill(place: Path) -> Path:
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
    return filler


def _copied(sample: Settings, place: Path) -> Path:
    folder = place / "data"
    shutil.copytree(sample.data_dir, folder)
    return folder


def test_a_first_ingest_on_a_full_disk_says_so_and_leaves_no_index(disk: Path) -> None:
    _fill(disk).rename(disk / "full")
    done = confab("ingest", str(SAMPLE_LIST), data_dir=disk / "data")
    assert done.returncode in (2, 9)
    assert "No space left" in done.stderr or "full" in done.stderr
    assert "Traceback" not in done.stderr


def test_on_a_full_disk_questions_are_answered_an_ingest_is_refused_and_a_purge_makes_room(
    sample: Settings, disk: Path, tmp_path: Path
) -> None:
    folder = _copied(sample, disk)
    assert confab("ingest", "--rebuild", data_dir=folder).returncode == 0
    more = tmp_path / "more.txt"
    more.write_text(MORE)
    filler = _fill(disk)
    answer = confab("ask", QUESTION, data_dir=folder)
    assert "30–55" in answer.stdout, answer.stderr
    refused = confab("ingest", str(more), data_dir=folder)
    assert (refused.returncode, "Traceback" in refused.stderr) == (9, False), refused.stderr
    assert "gen-000001" in confab("index", "purge", data_dir=folder).stdout
    filler.unlink()
    assert confab("ingest", str(more), data_dir=folder).returncode == 0
    assert "30–55" in confab("ask", QUESTION, data_dir=folder).stdout


def test_a_read_only_disk_is_answered_from_and_not_written_to(sample: Settings, disk: Path, tmp_path: Path) -> None:
    folder = _copied(sample, disk)
    assert _mount("-o", "remount,ro", str(disk)) == 0
    assert "30–55" in confab("ask", QUESTION, data_dir=folder).stdout
    more = tmp_path / "more.txt"
    more.write_text(MORE)
    refused = confab("ingest", str(more), data_dir=folder)
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr


def test_torn_texts_are_named_with_the_cure(own_sample: Settings) -> None:
    catalog = next(own_sample.data_dir.glob("generations/*/catalog.sqlite"))
    torn = bytearray(catalog.read_bytes())
    torn[len(torn) // 3 : len(torn) // 3 + 20_000] = b"\xff" * 20_000
    catalog.write_bytes(torn)
    done = confab("ask", QUESTION, data_dir=own_sample.data_dir)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert done.returncode == 6
        assert "--rebuild" in done.stderr
    verified = confab("index", "verify", data_dir=own_sample.data_dir)
    assert "catalog.sqlite does not match" in verified.stdout
