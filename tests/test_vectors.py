"""Vectors that were computed once are remembered, by text and model, whatever happens to the process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rag.errors import Corrupt
from rag.vectors import LOOKUP, VectorCache, unit

TEXTS = ["one", "two", "two ", "三\u0301", "half \ud800"]


def random(count: int) -> np.ndarray:
    rows = np.random.default_rng(1).standard_normal((count, 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_what_was_put_is_there_in_any_order_and_in_another_process(tmp_path: Path) -> None:
    vectors = random(len(TEXTS))
    with VectorCache(tmp_path / "cache" / "v.sqlite", "m@1") as cache:
        cache.put(TEXTS, vectors)
    with VectorCache(tmp_path / "cache" / "v.sqlite", "m@1") as again:
        assert again.missing(TEXTS) == []
        np.testing.assert_allclose(again.get(TEXTS[::-1]), vectors[::-1], atol=1e-3)


def test_a_changed_blank_is_another_text(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "v.sqlite", "m@1") as cache:
        cache.put(["two"], random(1))
        assert cache.missing(["two", "two ", "Two"]) == ["two ", "Two"]


def test_another_model_or_revision_knows_nothing_of_it(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "v.sqlite", "m@1") as cache:
        cache.put(["one"], random(1))
    for model in ("m@2", "n@1"):
        with VectorCache(tmp_path / "v.sqlite", model) as other:
            assert other.missing(["one"]) == ["one"]
            with pytest.raises(KeyError, match="one"):
                other.get(["one"])


def test_missing_texts_come_once_and_in_order(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "v.sqlite", "m@1") as cache:
        assert cache.missing(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_more_texts_than_one_statement_takes(tmp_path: Path) -> None:
    texts = [str(n) for n in range(3 * LOOKUP + 1)]
    with VectorCache(tmp_path / "v.sqlite", "m@1") as cache:
        cache.put(texts[::2], random(len(texts[::2])))
        assert cache.missing(texts) == texts[1::2]


def test_the_same_numbers_come_back_each_time_at_unit_length(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "v.sqlite", "m@1") as cache:
        cache.put(["one"], random(1))
        first = cache.get(["one"])
        cache.put(["one"], unit(first))
        np.testing.assert_array_equal(cache.get(["one"]), first)
    np.testing.assert_allclose(np.linalg.norm(unit(first), axis=1), 1, atol=1e-6)


def test_what_was_put_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np, pathlib; from rag.vectors import VectorCache\n"
        "with VectorCache(pathlib.Path(sys.argv[1]), 'm@1') as cache:\n"
        "    cache.put(['one'], np.ones((1, 8), dtype=np.float32)); print('put', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "v.sqlite")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"put\n"
        os.kill(process.pid, signal.SIGKILL)
    with VectorCache(tmp_path / "v.sqlite", "m@1") as cache:
        assert cache.missing(["one", "two"]) == ["two"]


def test_a_cache_that_cannot_be_read_is_named_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "v.sqlite").write_bytes(b"nonsense" * 99)
    with pytest.raises(Corrupt, match=r"v\.sqlite cannot be read.*delete it"):
        VectorCache(tmp_path / "v.sqlite", "m@1")


def test_no_text_stands_in_the_cache(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "v.sqlite", "m@1") as cache:
        cache.put(["a secret abstract"], random(1))
    assert all(b"secret" not in path.read_bytes() for path in tmp_path.iterdir())
