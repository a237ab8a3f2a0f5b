"""Generations: made aside, verified, switched to, rolled back to, purged; damage is found, writers wait."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ingest.job import ingest
from rag.errors import Busy, Corrupt, NoIndex, NotFound, SettingsError, UsageError
from rag.settings import Settings
from rag.store import Manifest, Store, hashes
from tests.corpus import ROWS, changed, papers, write

OLD_WORDS = "The counter finds nine of ten birds in the far north."
NEW_WORDS = "The counter now finds every bird in the far south."


def second(settings: Settings) -> Store:
    """A second generation, in which the birds' abstract says something else."""
    abstract = ROWS[0]["abstract"].replace(OLD_WORDS, NEW_WORDS)
    ingest([write(settings.data_dir / "list.jsonl", changed("birds", abstract=abstract))], settings)
    (settings.data_dir / "list.jsonl").unlink()
    return Store(settings)


def folder(settings: Settings, name: str = "gen-000001") -> Path:
    return settings.data_dir / "generations" / name


def holding(settings: Settings, words: str) -> list[str]:
    """Files of the data folder that hold some text."""
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    return [path.name for path in files if words.encode() in path.read_bytes()]


# reading


def test_before_the_first_ingest_there_is_no_index(empty: Settings) -> None:
    store = Store(empty)
    assert (store.current(), store.names()) == (None, [])
    for ask in (store.open, store.served, store.catalog):
        with pytest.raises(NoIndex, match=r"confab ingest PATH"):
            ask()


def test_a_generation_says_what_it_is_and_what_made_it(small: Settings) -> None:
    manifest = Store(small).manifest("gen-000001")
    assert (manifest.papers, manifest.generation, manifest.parent) == (4, "gen-000001", None)
    assert manifest.embedding.startswith("llama-index/tests.hashed.Hashed")
    assert manifest.dimension == 64
    assert [Path(source).name for source in manifest.sources] == ["papers.jsonl"]
    assert {"catalog.sqlite", "passages.npy", "sentences.npy", "words/meta.json"} <= manifest.files.keys()


def test_an_opened_generation_is_whole(small: Settings) -> None:
    generation = Store(small).open()
    counts = generation.manifest
    assert generation.catalog.papers == counts.papers
    assert generation.lexical.count() == generation.dense.count() == len(generation.vectors) == counts.passages
    assert len(generation.sentences) == counts.sentence_vectors == counts.sentences


def test_reading_changes_nothing_that_is_verified(small: Settings) -> None:
    store = Store(small)
    for _ in range(2):
        generation = store.open()
        generation.dense.search(generation.vectors[0], 3)
        generation.lexical.search("birds", 3)
    assert store.verify(folder(small)) == []


def test_a_generation_that_is_not_there_is_named(small: Settings) -> None:
    with pytest.raises(NotFound, match=r"'gen-000009'.*confab index list"):
        Store(small).open("gen-000009")


def test_a_current_generation_that_is_gone_is_corrupt_with_the_cure(small: Settings) -> None:
    folder(small).rename(small.data_dir / "elsewhere")
    with pytest.raises(Corrupt, match=r"rollback.*--rebuild PATH"):
        Store(small).served()


@pytest.mark.parametrize("text", ["", "{", '{"generation": 1}'])
def test_a_manifest_that_cannot_be_read_is_corrupt(small: Settings, text: str) -> None:
    (folder(small) / "manifest.json").write_text(text)
    with pytest.raises(Corrupt, match="manifest of gen-000001"):
        Store(small).open()


def test_an_index_of_another_schema_is_refused_with_the_cure(small: Settings) -> None:
    path = folder(small) / "manifest.json"
    made = Manifest.model_validate_json(path.read_bytes())
    path.write_text(made.model_copy(update={"schema_version": 99}).model_dump_json())
    with pytest.raises(Corrupt, match=r"schema 99.*--rebuild"):
        Store(small).open()


# switching


def test_a_second_generation_is_served_and_the_first_can_be_rolled_back_to(small: Settings) -> None:
    store = second(small)
    assert (store.current(), store.names()) == ("gen-000002", ["gen-000001", "gen-000002"])
    assert store.manifest("gen-000002").parent == "gen-000001"
    assert store.rollback() == store.current() == "gen-000001"
    assert NEW_WORDS not in store.open().catalog.paper("birds").abstract  # type: ignore[union-attr]
    assert store.rollback("gen-000002") == store.current() == "gen-000002"
    with pytest.raises(NotFound):
        store.rollback("gen-000007")
    assert store.current() == "gen-000002"


def test_before_the_first_generation_there_is_nothing_to_roll_back_to(small: Settings) -> None:
    with pytest.raises(UsageError, match="no generation before gen-000001"):
        Store(small).rollback()


def test_purging_leaves_no_byte_of_what_was_deleted(small: Settings) -> None:
    store = second(small)
    (store.root / "generations" / "gen-000003.part").mkdir()
    (store.root / "generations" / "gen-000003.part" / "half").write_text(OLD_WORDS)
    assert holding(small, OLD_WORDS)
    assert store.purge() == ["gen-000001", "gen-000003.part"]
    assert store.names() == ["gen-000002"]
    assert holding(small, OLD_WORDS) == []
    assert holding(small, NEW_WORDS) == ["catalog.sqlite"]
    assert store.verify(folder(small, "gen-000002")) == []


def test_purging_after_a_rollback_keeps_what_is_served_and_its_name_is_not_given_again(small: Settings) -> None:
    """A reader that looks away meanwhile would take the new gen-000002 for the one it knows."""
    store = second(small)
    store.rollback()
    assert store.purge() == ["gen-000002"]
    assert second(small).current() == "gen-000003"


def test_a_new_generation_begins_empty_and_clears_what_a_killed_writer_left(small: Settings) -> None:
    store = Store(small)
    name, aside = store.begin()
    (aside / "half").write_text("half")
    assert (name, store.begin()[0]) == ("gen-000002", "gen-000002")
    assert not list(aside.iterdir())
    assert store.names() == ["gen-000001"]


def test_a_generation_that_fails_its_verification_is_never_served(small: Settings) -> None:
    store = Store(small)
    name, aside = store.begin()
    made = store.manifest("gen-000001").model_copy(update={"generation": name})
    with pytest.raises(Corrupt, match="new generation is not served"):
        store.publish(aside, made)
    assert (store.current(), store.names()) == ("gen-000001", ["gen-000001"])


# damage


def rehash(settings: Settings, **said: int) -> None:
    """A manifest that agrees with the files, as somebody who tampers would leave it; `said` are other counts."""
    path = folder(settings) / "manifest.json"
    made = Manifest.model_validate_json(path.read_bytes())
    path.write_text(made.model_copy(update={"files": hashes(path.parent), **said}).model_dump_json())


def cut(name: str) -> Callable[[Path], None]:
    def damage(generation: Path) -> None:
        path = next(generation.glob(name))
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


def flip(name: str) -> Callable[[Path], None]:
    def damage(generation: Path) -> None:
        path = next(generation.glob(name))
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)

    return damage


def remove(name: str) -> Callable[[Path], None]:
    return lambda generation: next(generation.glob(name)).unlink()


def stranger(generation: Path) -> None:
    (generation / "words" / "stranger").write_text("was not here")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (cut("catalog.sqlite"), "catalog.sqlite"),
        (cut("passages.npy"), "passages.npy"),
        (cut("chroma/*/data_level0.bin"), "data_level0.bin"),
        (cut("chroma/chroma.sqlite3"), "Chroma"),
        (flip("sentences.npy"), "sentences.npy"),
        (flip("words/*.idx"), ".idx"),
        (remove("passages.npy"), "passages.npy"),
        (remove("words/meta.json"), "meta.json"),
        (remove("chroma/chroma.sqlite3"), "Chroma"),
        (stranger, "stranger"),
    ],
    ids=["cut catalog", "cut vectors", "cut graph", "cut chroma", "flipped vectors", "flipped words", "no vectors",
         "no words", "no chroma", "a stranger"],
)  # fmt: skip
def test_damaged_files_are_found_and_named(small: Settings, damage: Callable[[Path], None], named: str) -> None:
    damage(folder(small))
    problems = Store(small).verify(folder(small))
    assert problems
    assert all(named in problem for problem in problems)


def test_changed_vectors_are_found_although_the_manifest_agrees(small: Settings) -> None:
    path = folder(small) / "passages.npy"
    vectors = np.load(path)
    np.save(path, vectors[::-1])
    rehash(small)
    assert any("does not find itself in Chroma" in problem for problem in Store(small).verify(folder(small)))
    np.save(path, vectors * 2)
    rehash(small)
    assert any("not of unit length" in problem for problem in Store(small).verify(folder(small)))
    vectors[2, 3] = np.nan
    np.save(path, vectors)
    rehash(small)
    assert any("not of unit length" in problem for problem in Store(small).verify(folder(small)))
    np.save(path, vectors[:, :32])
    rehash(small)
    assert any("dimension 64" in problem for problem in Store(small).verify(folder(small)))


@pytest.mark.parametrize(
    ("count", "what"),
    [("papers", "papers"), ("passages", "passages in Chroma"), ("sentences", "sentences"),
     ("sentence_vectors", "sentence vectors")],
)  # fmt: skip
def test_counts_that_the_manifest_does_not_say_are_found(small: Settings, count: str, what: str) -> None:
    rehash(small, **{count: 99})
    problems = Store(small).verify(folder(small))
    assert any(what in problem and "the manifest says 99" in problem for problem in problems)


def test_a_paper_taken_out_of_the_catalog_is_found(small: Settings) -> None:
    with sqlite3.connect(folder(small) / "catalog.sqlite") as db:
        db.execute("DELETE FROM papers WHERE id = 'birds'")
    db.close()
    rehash(small)
    assert "3 papers, the manifest says 4" in Store(small).verify(folder(small))


def test_verifying_in_a_child_process_says_the_same(small: Settings) -> None:
    store = Store(small)
    assert store.verify_all("gen-000001") == []
    flip("passages.npy")(folder(small))
    assert store.verify_all("gen-000001") == ["passages.npy does not match the manifest"]
    (folder(small) / "manifest.json").write_text("{}")
    with pytest.raises(Corrupt, match="manifest of gen-000001"):
        store.verify_all("gen-000001")


# the writer's lock


def test_a_second_writer_is_refused_naming_the_first(small: Settings) -> None:
    store = Store(small)
    with store.writer():
        for _ in range(2):  # a refusal takes nothing from the holder's name
            with pytest.raises(Busy, match=rf"process {os.getpid()} \(since 20"), Store(small).writer():
                pass
    with store.writer():
        pass


def test_a_killed_writers_lock_is_free_at_once(small: Settings) -> None:
    code = (
        "import sys, time; from pathlib import Path; from rag.store import Store; from rag.settings import Settings\n"
        "with Store(Settings(data_dir=Path(sys.argv[1]))).writer():\n    print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(small.data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(Busy, match=f"process {process.pid} "), Store(small).writer():
            pass
        process.send_signal(signal.SIGKILL)
    with Store(small).writer():
        pass


def test_a_lock_is_let_go_when_its_holder_fails(small: Settings) -> None:
    store = Store(small)
    with pytest.raises(ZeroDivisionError), store.writer():
        _ = 1 / 0
    with store.writer():
        pass


def test_a_data_folder_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(Settings(data_dir=tmp_path / "file"))
    with pytest.raises(SettingsError, match="CONFAB_DATA_DIR"), store.writer():
        pass
    with pytest.raises(NoIndex):
        store.served()


def test_the_small_corpus_is_what_the_tests_think_it_is(small: Settings) -> None:
    assert {p.id: p for p in Store(small).catalog().all_papers()} == {p.id: p for p in papers()}
