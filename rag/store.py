"""A generation of the index: one immutable folder, made aside, verified, then made current.

    DATA_DIR/
      CURRENT                    name of the generation that is served; replaced in one step
      LOCK                       held by the one writer
      cache/vectors.sqlite       vectors by (model, text digest)
      generations/gen-000007/    manifest.json catalog.sqlite passages.npy sentences.npy hubs.npy words/ chroma/
      generations/LAST           the highest name ever given, once generations were purged
      generations/gen-000008.part/   one that is being filled; removed by the next writer

A reader opens the folder that CURRENT names and never sees half of another (FACTS 1.1, 1.2).
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from rag.catalog import Catalog
from rag.dense import Dense, Vectors, drop, forget_clients
from rag.errors import Busy, Corrupt, NoIndex, NotFound, SettingsError, UsageError
from rag.lexical import Lexical
from rag.settings import Settings, env_name
from rag.types import Frozen

SCHEMA = 1
E5_SPREAD, LEAST_SPREAD = 0.0425, 0.01
"""Deviation of strangers' nearness with e5, on the sample list as on ICML 2026; and one that is no measure."""
SAMPLE = 25
"""Passages that must find themselves before a generation is served."""


class Manifest(Frozen):
    """What a generation is and what made it; written last.

    `strangers`: how near questions about something else come (`rag.hubness`), mean and deviation by script.
    """

    schema_version: int = SCHEMA
    generation: str
    created: str
    parent: str | None = None
    embedding: str
    revision: str
    dimension: int
    chunk_tokens: int
    papers: int
    passages: int
    sentences: int
    sentence_vectors: int
    strangers: dict[str, tuple[float, float]]
    sources: tuple[str, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Generation:
    """An opened generation. `vectors` float32 [passages, d] and `sentences` float16 [sentences, d], memory-mapped.

    `sentences` is empty where the index was made without the sentence stage. `hubs` float32 [passages, banks, 2]
    as `rag.hubness.measure` gives it.
    """

    name: str
    manifest: Manifest
    catalog: Catalog
    dense: Dense
    lexical: Lexical
    vectors: Vectors
    sentences: NDArray[np.float16]
    hubs: NDArray[np.float32]

    @property
    def spread(self) -> float:
        """How widely the model spreads nearness, 1 for e5: weights that were tuned with e5 are scaled by it."""
        return max(self.manifest.strangers["latin"][1], LEAST_SPREAD) / E5_SPREAD


class Store:
    """The generations of one data folder."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.root = settings.data_dir
        self._home = self.root / "generations"

    # reading

    def current(self) -> str | None:
        """The name of the generation that is served; None before the first ingest."""
        return current_name(self.root)

    def served(self) -> str:
        """The same. Raises NoIndex before the first ingest, Corrupt where the folder is gone."""
        name = self.current()
        if name is None:
            raise NoIndex(f"there is no index in {self.root.absolute()}; make one with `confab ingest PATH`")
        if not (self._home / name / "manifest.json").is_file():
            raise Corrupt(
                f"{self.root}/CURRENT names {name!r}, which is not there; `confab index rollback` serves an older "
                "generation, `confab ingest --rebuild PATH` makes a new one"
            )
        return name

    def catalog(self) -> Catalog:
        """The texts alone of the served generation."""
        return Catalog(self._home / self.served() / "catalog.sqlite")

    def names(self) -> list[str]:
        """All whole generations, oldest first."""
        return sorted(p.name for p in self._home.glob("gen-*") if (p / "manifest.json").is_file() and not p.suffix)

    def manifest(self, name: str) -> Manifest:
        path = self._home / name / "manifest.json"
        try:
            return Manifest.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise NotFound(f"there is no generation {name!r}; `confab index list` shows those there are") from None
        except ValidationError as error:
            raise Corrupt(f"the manifest of {name} cannot be read: {error.errors()[0]['msg']}") from None

    def open(self, name: str | None = None) -> Generation:
        """The named generation, else the current one."""
        name = name or self.served()
        return self._open(self._home / name, self.manifest(name))

    def _open(self, folder: Path, manifest: Manifest) -> Generation:
        if manifest.schema_version != SCHEMA:
            raise Corrupt(
                f"{manifest.generation} has schema {manifest.schema_version}, this version of Confab reads {SCHEMA}; "
                "run `confab ingest --rebuild`"
            )
        vectors, sentences = _load(folder / "passages.npy"), _load(folder / "sentences.npy")
        return Generation(
            name=manifest.generation,
            manifest=manifest,
            catalog=Catalog(folder / "catalog.sqlite"),
            dense=Dense(folder / "chroma", collection(manifest.generation), vectors, self._settings),
            lexical=Lexical(folder / "words"),
            vectors=vectors,
            sentences=sentences,
            hubs=_load(folder / "hubs.npy"),
        )

    # writing

    @contextlib.contextmanager
    def writer(self) -> Iterator[None]:
        """Hold the one writer's lock. Raises Busy, naming the holder; a killed holder's lock is free at once."""
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            opened = (self.root / "LOCK").open("a+", encoding="utf-8")
        except OSError as error:
            raise SettingsError(
                f"the data folder {self.root} cannot be written ({error.strerror}); set CONFAB_DATA_DIR to one that can"
            ) from error
        with opened as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "another process"
                raise Busy(f"{self.root} is being written by {holder}; wait until it ends") from None
            os.ftruncate(lock.fileno(), 0)
            with contextlib.suppress(OSError):  # on a full disk the holder stays unnamed
                holder = f"process {os.getpid()} (since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC)"
                os.write(lock.fileno(), holder.encode())
            try:
                yield
            finally:
                os.ftruncate(lock.fileno(), 0)

    def refuse_if_busy(self) -> None:
        """Raises Busy at once where another process writes; says nothing of what can be written."""
        if (self.root / "LOCK").exists():
            with self.writer():
                pass

    def begin(self) -> tuple[str, Path]:
        """A new name and an empty folder to fill; what a killed writer left is removed."""
        for left in self._home.glob("*.part"):
            shutil.rmtree(left)
        name = f"gen-{self._last() + 1:06}"
        folder = self._home / f"{name}.part"
        folder.mkdir()
        return name, folder

    def _last(self) -> int:
        """The highest number of a whole generation, purged ones too: a reader knows generations by name."""
        names = [p.name for p in self._home.glob("gen-??????")]
        with contextlib.suppress(FileNotFoundError):
            names.append((self._home / "LAST").read_text("utf-8").strip())
        return max((int(name[4:]) for name in names), default=0)

    def publish(self, folder: Path, manifest: Manifest) -> None:
        """Hash, verify in a child process, and make current, in this order. Raises Corrupt."""
        whole = manifest.model_copy(update={"files": hashes(folder)})
        _write(folder / "manifest.json", whole.model_dump_json(indent=1))
        problems = self.verify_aside(folder)
        if problems:
            raise Corrupt(f"the new generation is not served: {'; '.join(problems)}")
        _sync_tree(folder)
        folder.rename(self._home / manifest.generation)
        _sync(self._home)
        self.switch(manifest.generation)

    def switch(self, name: str) -> None:
        """Make a whole generation the current one, in one step."""
        self.manifest(name)
        _write(self.root / "CURRENT", name + "\n")

    def verify_aside(self, folder: Path) -> list[str]:
        """Verify in a child process: torn index files can take down the process that opens them (FACTS 1.2)."""
        command = [sys.executable, "-m", "rag.store", str(folder), self._settings_for_child()]
        child = subprocess.run(
            command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=self._environment()
        )
        if child.returncode < 0:
            return [f"the process that opened it died of {signal.Signals(-child.returncode).name}"]
        try:
            problems: list[str] = json.loads(child.stdout)
        except ValueError:
            return [f"the process that opened it failed: {child.stderr.strip()[-300:]}"]
        return problems

    def _settings_for_child(self) -> str:
        """What the child needs to open an index, but for the key."""
        return self._settings.model_dump_json(include={"chroma_url", "chroma_tenant", "chroma_database"})

    def _environment(self) -> dict[str, str]:
        """The key of a Chroma server goes through the environment, as a command line can be read by all."""
        key = self._settings.chroma_api_key
        return dict(os.environ) | ({env_name("chroma_api_key"): key.get_secret_value()} if key else {})

    def verify(self, folder: Path) -> list[str]:
        """Everything that is wrong with a generation, in words; nothing where all is well."""
        manifest = Manifest.model_validate_json((folder / "manifest.json").read_bytes())
        found = hashes(folder)
        wrong = sorted(
            name for name in found.keys() | manifest.files.keys() if found.get(name) != manifest.files.get(name)
        )
        if wrong:
            return [f"{name} does not match the manifest" for name in wrong]
        try:
            generation = self._open(folder, manifest)
        except Corrupt as error:
            return [error.message]
        try:
            return _problems(generation)
        finally:
            generation.catalog.close()

    def verify_all(self, name: str) -> list[str]:
        self.manifest(name)
        return self.verify_aside(self._home / name)

    def rollback(self, name: str | None = None) -> str:
        """Make an older generation current: the named one, else the one before the current."""
        names, current = self.names(), self.current()
        if name is None:
            if not names:
                raise NoIndex(f"there is no index in {self.root.absolute()}; make one with `confab ingest PATH`")
            before = [n for n in names if current is None or n < current]
            if not before:
                raise UsageError(f"there is no generation before {current}; `confab index list` shows those there are")
            name = before[-1]
        self.switch(name)
        return name

    def purge(self) -> list[str]:
        """Remove every generation but the current one, and what killed writers left; their texts go with them."""
        current, last = self.current(), self._last()
        gone = [p for p in sorted(self._home.glob("gen-*")) if p.name != current]
        for folder in gone:
            drop(folder / "chroma", collection(folder.name.removesuffix(".part")), self._settings)
            shutil.rmtree(folder)
        _write(self._home / "LAST", f"gen-{last:06}\n")  # after the room was made: the disk may have been full
        forget_clients()
        return [p.name for p in gone]


def current_name(root: Path) -> str | None:
    """What CURRENT says; None before the first ingest."""
    try:
        return (root / "CURRENT").read_text("utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None


def collection(generation: str) -> str:
    return f"confab-{generation}"


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file that reading leaves alone. (Chroma writes to its chroma.sqlite3 when it opens it.)"""
    out = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "manifest.json" and not path.name.startswith((".", "chroma.sqlite3")):
            with path.open("rb") as file:
                out[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return out


def _problems(generation: Generation) -> list[str]:
    return [*_miscounts(generation), *_odd_vectors(generation)] or list(_strangers(generation))


def _miscounts(generation: Generation) -> Iterator[str]:
    manifest, catalog = generation.manifest, generation.catalog
    counts = [
        ("papers", catalog.papers, manifest.papers),
        ("passages", catalog.passages, manifest.passages),
        ("sentences", catalog.sentences, manifest.sentences),
        ("passages in the word index", generation.lexical.count(), manifest.passages),
        ("passages in Chroma", generation.dense.count(), manifest.passages),
        ("passage vectors", len(generation.vectors), manifest.passages),
        ("measures of hubness", len(generation.hubs), manifest.passages),
        ("sentence vectors", len(generation.sentences), manifest.sentence_vectors),
    ]
    for what, there, said in counts:
        if there != said:
            yield f"{there} {what}, the manifest says {said}"


def _odd_vectors(generation: Generation) -> Iterator[str]:
    dimension = generation.manifest.dimension
    if generation.dense.without_graph:
        yield f"Chroma cannot be opened here ({generation.dense.without_graph}); vectors are compared one by one"
    for name, matrix in (("passages.npy", generation.vectors), ("sentences.npy", generation.sentences)):
        if matrix.ndim != 2 or (len(matrix) and matrix.shape[1] != dimension):
            yield f"{name} has shape {matrix.shape}, the manifest says dimension {dimension}"
            continue
        for first in range(0, len(matrix), 10_000):
            lengths = np.linalg.norm(matrix[first : first + 10_000].astype(np.float32), axis=1)
            if not np.all(np.abs(lengths - 1) < 0.01):  # also catches NaN
                yield f"{name} has vectors that are not of unit length near row {first}"
                break


def _strangers(generation: Generation) -> Iterator[str]:
    """Passages whose vector is not the one in Chroma: some are searched for."""
    count = len(generation.vectors)
    for row in range(0, count, max(1, count // SAMPLE)):
        best = generation.dense.search(generation.vectors[row], 1)  # itself, or one that is the same
        if not best or best[0][1] < 0.999:
            yield f"passage {row} does not find itself in Chroma"


def _load(path: Path) -> NDArray[np.floating]:
    try:
        loaded: NDArray[np.floating] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Corrupt(
            f"{path.name} of {path.parent.name} cannot be read ({error}); run `confab index verify`"
        ) from None
    return loaded


def _write(path: Path, text: str) -> None:
    """Replace a small file in one step, on disk when this returns."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        _sync(path)
    _sync(folder)


def _verify_as_child(folder: str, settings: str) -> None:
    from rag.settings import load

    # the parent's choice of server counts, the rest (a server's key among it) comes from the environment
    store = Store(load().model_copy(update=json.loads(settings)))
    sys.stdout.write(json.dumps(store.verify(Path(folder))))


if __name__ == "__main__":
    _verify_as_child(*sys.argv[1:])
