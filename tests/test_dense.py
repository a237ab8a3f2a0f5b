"""Ids and vectors in a real Chroma, in files and on a server; the exact product."""

import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction, OpenAIEmbeddingFunction

from rag import dense
from rag.dense import Dense, Vectors
from rag.errors import Corrupt, SettingsError, UpstreamError
from rag.settings import Settings
from tests.servers import wait_until

LOCAL = Settings()


def cone(count: int, dimension: int = 64, seed: int = 7) -> Vectors:
    """Unit vectors in a narrow cone, as e5's are: any two have a cosine of about 0.8."""
    rng = np.random.default_rng(seed)
    loose = rng.standard_normal((count, dimension)) / np.sqrt(dimension) * 0.5
    loose[:, 0] += 1.0
    return np.asarray(loose / np.linalg.norm(loose, axis=1, keepdims=True), dtype=np.float32)


def nearest(vectors: Vectors, question: Vectors, k: int) -> list[int]:
    return [int(row) for row in np.argsort(-(vectors @ question), kind="stable")[:k]]


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return cone(3_000)


@pytest.fixture(scope="module")
def built(vectors: Vectors, tmp_path_factory: pytest.TempPathFactory) -> Dense:
    folder = tmp_path_factory.mktemp("chroma")
    dense.build(folder, "passages", vectors, LOCAL)
    return Dense(folder, "passages", vectors, LOCAL)


def small(folder: Path, count: int, settings: Settings = LOCAL) -> Dense:
    vectors = cone(count)
    dense.build(folder, "passages", vectors, settings)
    return Dense(folder, "passages", vectors, settings)


@contextmanager
def chroma_server(folder: Path) -> Iterator[Settings]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [Path(sys.executable).parent / "chroma", "run", "--path", folder, "--host", "127.0.0.1", "--port", port]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{url}/api/v2/heartbeat").status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_until(answers, 30)
        yield Settings(chroma_url=url)
    finally:
        process.kill()
        process.wait()


def test_cone_shaped_vectors_cost_the_graph_little_recall(built: Dense, vectors: Vectors) -> None:
    questions = cone(60, seed=8)
    found = [len({row for row, _ in built.search(q, 10)} & set(nearest(vectors, q, 10))) for q in questions]
    assert sum(found) / (10 * len(questions)) >= 0.99


def test_every_passage_finds_itself(built: Dense, vectors: Vectors) -> None:
    assert [built.search(vectors[row], 3)[0][0] for row in range(0, 3_000, 100)] == list(range(0, 3_000, 100))


@pytest.mark.parametrize("rows", [range(500, 900), range(0, 3_000, 7), [2_999, 5, 17], [4, 2, 6], [3], []])
def test_under_a_filter_the_search_is_exact(built: Dense, vectors: Vectors, rows: list[int]) -> None:
    allowed = np.array(sorted(rows), dtype=np.int64)
    question = cone(1, seed=9)[0]
    wanted = [int(allowed[i]) for i in nearest(vectors[allowed], question, 10)]
    assert [row for row, _ in built.search(question, 10, allowed)] == wanted


@pytest.mark.parametrize("rows", [[5, 6, 7], [7, 6, 5], [5, 3, 7], [5, 5, 7], [9], [2_999, 0], []])
def test_cosines_come_in_the_order_of_the_rows_asked_for(built: Dense, vectors: Vectors, rows: list[int]) -> None:
    question = cone(1, seed=9)[0]
    given = np.array(rows, dtype=np.int64)
    np.testing.assert_allclose(built.cosines(question, given), vectors[given] @ question, rtol=1e-5)


def test_the_same_question_has_the_same_ranking_each_time_with_cosines_falling(built: Dense) -> None:
    question = cone(1, seed=10)[0]
    first = built.search(question, 100)
    assert first == built.search(question, 100)
    assert [cosine for _, cosine in first] == sorted((cosine for _, cosine in first), reverse=True)
    assert len({row for row, _ in first}) == 100


def test_equal_vectors_are_ranked_by_row(tmp_path: Path) -> None:
    vectors = cone(20)
    vectors[[3, 11, 17]] = vectors[5]
    dense.build(tmp_path, "passages", vectors, LOCAL)
    ranked = Dense(tmp_path, "passages", vectors, LOCAL).search(vectors[5], 4)
    assert [row for row, _ in ranked] == [3, 5, 11, 17]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_handful_of_vectors_is_an_index_too(tmp_path: Path, count: int) -> None:
    index = small(tmp_path, count)
    assert index.count() == count
    assert [row for row, _ in index.search(cone(1)[0], 10)][:1] == list(range(count))[:1]


def test_chroma_is_given_no_text_and_writes_its_graph(tmp_path: Path) -> None:
    small(tmp_path, 300)
    assert [path for path in tmp_path.rglob("data_level0.bin") if path.stat().st_size > 300 * 64 * 4]
    with closing(sqlite3.connect(tmp_path / "chroma.sqlite3")) as db:
        assert db.execute("SELECT count(*) FROM embedding_metadata").fetchone() == (0,)


def test_building_again_replaces_what_was_there(tmp_path: Path) -> None:
    small(tmp_path, 30)
    assert small(tmp_path, 10).count() == 10


def test_many_threads_open_the_same_files_at_once(tmp_path: Path) -> None:
    small(tmp_path, 20)
    for _ in range(3):
        dense.forget_clients()
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(lambda _: Dense(tmp_path, "passages", cone(20), LOCAL), range(8)))
        assert [index.count() for index in opened] == [20] * 8


def test_a_missing_collection_is_corrupt_with_the_cure(tmp_path: Path) -> None:
    small(tmp_path, 2)
    with pytest.raises(Corrupt, match=r"no collection 'other'.*--rebuild"):
        Dense(tmp_path, "other", cone(2), LOCAL)


def test_torn_files_are_corrupt_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"SQLite format 3\0" + bytes(500))
    with pytest.raises(Corrupt, match="--rebuild"):
        Dense(tmp_path, "passages", cone(2), LOCAL)


def test_a_stored_embedding_function_is_refused_before_it_is_built(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as environment:  # whoever made the files knew a key that we have not
        environment.setenv("STOLEN", "sk-secret")
        remote = OpenAIEmbeddingFunction(api_key_env_var="STOLEN", api_base="http://127.0.0.1:9/v1")
        client = dense.connect(tmp_path, LOCAL)
        client.create_collection("remote", embedding_function=remote)  # type: ignore[arg-type]
        client.create_collection("default", embedding_function=DefaultEmbeddingFunction())  # type: ignore[arg-type]
    for name in ("remote", "default"):
        with pytest.raises(Corrupt, match="stores an embedding function"):
            Dense(tmp_path, name, cone(2), LOCAL)


def test_chroma_does_not_read_the_env_file_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("ALLOW_RESET=TRUE\nIS_PERSISTENT=nonsense\n")
    monkeypatch.chdir(tmp_path)
    assert not dense.connect(tmp_path / "chroma", LOCAL).get_settings().allow_reset


# a server


def test_a_chroma_server_holds_the_same_and_its_death_is_an_upstream_error(tmp_path: Path) -> None:
    nowhere = tmp_path / "unused"
    with chroma_server(tmp_path / "server") as settings:
        index = small(nowhere, 200, settings)
        vectors = cone(200)
        assert index.count() == 200
        assert [row for row, _ in index.search(vectors[7], 10)] == nearest(vectors, vectors[7], 10)
        assert small(nowhere, 50, settings).count() == 50  # built again over what a killed build left
        dense.drop(nowhere, "passages", settings)
        with pytest.raises(Corrupt, match="no collection"):
            Dense(nowhere, "passages", vectors, settings)
        index = small(nowhere, 5, settings)
    assert not nowhere.exists()
    with pytest.raises(UpstreamError, match=r"Chroma server at 127\.0\.0\.1") as caught:
        index.search(vectors[7], 5)
    assert caught.value.retry_after
    with pytest.raises(UpstreamError, match="unset CONFAB_CHROMA_URL"):
        dense.build(nowhere, "passages", vectors, settings)
    dense.drop(nowhere, "passages", settings)  # purging goes on without the server


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:99999", "ftp://127.0.0.1", "http://127.0.0.1:port"])
def test_an_address_that_is_none_is_named(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="CONFAB_CHROMA_URL"):
        dense.connect(tmp_path, Settings(chroma_url=url))
