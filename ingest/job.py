"""Lists -> a new generation of the index: read, clean, plan, split, embed what is new, build, verify, switch.

The only writer. A kill at any moment leaves the generation that is served as it was, and vectors that
were computed are remembered (`rag.vectors`).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode, TextNode
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from pydantic import Field

from ingest.gather import gather
from ingest.plan import Plan, plan
from ingest.read.source import AS_FOUND
from ingest.record import Reading, Rejected
from ingest.report import Fate, fates
from rag import catalog, dense, hubness, lexical
from rag.errors import Corrupt, InputError, ModelMismatch, NoIndex
from rag.models.embedding import Embedding, build
from rag.settings import Settings
from rag.store import Manifest, Store, collection
from rag.text import encode, sentences, words
from rag.types import Frozen, Paper
from rag.vectors import VectorCache, unit

BATCH = 128
"""Texts embedded between two commits to the cache: what a kill can cost."""

Progress = Callable[[str, int, int], None]
"""(what is done, how many, of how many)."""


class Report(Frozen):
    """What an ingest did. `held` papers were to be dropped and were not, since a record could not be read.

    `records` says it record by record (for --report).
    """

    generation: str | None
    read: int
    added: int
    changed: int
    kept: int
    dropped: int
    held: int = 0
    repeated: int
    rejected: tuple[Rejected, ...]
    papers: int
    embedded: int
    seconds: float
    written: bool
    records: tuple[Fate, ...] = Field(default=(), exclude=True, repr=False)


def ingest(
    paths: Sequence[Path],
    settings: Settings,
    *,
    how: Reading = AS_FOUND,
    sync: bool = False,
    lenient: bool = False,
    rebuild: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda *_: None,
) -> Report:
    """Bring the lists into the index. Raises NotFound, InputError, Busy, ModelMismatch, Corrupt, UpstreamError."""
    started, held = time.monotonic(), 0
    store = Store(settings)
    with store.writer():
        came = gather(paths, how)
        papers, rejected = came.papers, came.rejected
        if not papers and paths:
            first = f", {rejected[0].where}: {rejected[0].reason}" if rejected else ""
            raise InputError(f"no paper in {', '.join(map(str, paths))}{first}; nothing was changed")
        name, stored = _stored(store, rebuild_from_lists=rebuild and bool(paths))
        if name is None and not paths:
            raise NoIndex(f"there is no index in {store.root} to rebuild; make one with `confab ingest PATH`")
        known = stored.digests() if stored else {}
        broken = [record for record in rejected if not record.final]
        spared = {record.id for record in broken if record.id}
        todo = plan(known, papers, sync=sync, spared=spared)
        if todo.drop and not lenient and any(record.id is None for record in broken):
            held = len(todo.drop)  # a line that cannot be read may be that of a paper that would be dropped
            todo = plan(known, papers)
        job = _Job(store, settings, build(settings), progress)
        if name and not rebuild:
            job.refuse_other_model(store.manifest(name))
        embedded, write = 0, not dry_run and (rebuild or not todo.empty)
        if write:
            kept = stored.all_papers() if stored else ()
            name, embedded = job.run(kept, todo, parent=name, sources=[str(path) for path in paths])
        return Report(
            generation=name,
            read=came.read,
            added=len(todo.add),
            changed=len(todo.change),
            kept=len(todo.keep),
            dropped=len(todo.drop),
            held=held,
            repeated=len(todo.repeated),
            rejected=tuple(rejected),
            papers=len(todo.add) + len(todo.change) + len(todo.keep),
            embedded=embedded,
            seconds=round(time.monotonic() - started, 3),
            written=write,
            records=fates(came, todo),
        )


def _stored(store: Store, *, rebuild_from_lists: bool) -> tuple[str | None, catalog.Catalog | None]:
    """The name and the texts of what is served. The texts alone: torn vectors or words cost no paper.

    Raises Corrupt where the texts cannot be read, unless the lists are to stand in for them.
    """
    name = store.current()
    if name is None:
        return None, None
    try:
        return name, store.catalog()
    except Corrupt:
        if rebuild_from_lists:
            return name, None
        raise


class _Job:
    """One writing of one generation."""

    def __init__(self, store: Store, settings: Settings, embedding: Embedding, progress: Progress) -> None:
        self._store, self._settings, self._embedding, self._progress = store, settings, embedding, progress
        self._splitter = SentenceSplitter(
            chunk_size=settings.chunk_tokens,
            chunk_overlap=0,
            tokenizer=encode,
            chunking_tokenizer_fn=lambda text: [text[start:end] for start, end in sentences(text)],
        )

    def refuse_other_model(self, stored: Manifest) -> None:
        there = (stored.embedding, stored.revision)
        if there != (self._embedding.name, self._embedding.revision):
            raise ModelMismatch(
                f"{stored.generation} was built with {there[0]} ({there[1]}), CONFAB_EMBED_MODEL is now "
                f"{self._embedding.name} ({self._embedding.revision}); set it back, or make the index again "
                "with `confab ingest --rebuild`"
            )

    def run(
        self, stored: Iterable[Paper], todo: Plan, *, parent: str | None, sources: Sequence[str]
    ) -> tuple[str, int]:
        """The name of the new generation, and how many texts were embedded."""
        entries = [self._entry(paper) for paper in sorted(_merged(stored, todo), key=catalog.order)]
        texts = [node.get_content(MetadataMode.EMBED) for entry in entries for node in _nodes(entry)]
        spoken = [entry.paper.abstract[s.start : s.end] for entry in entries for s in entry.sentences]
        if not self._settings.sentence_stage:
            spoken = []
        model = f"{self._embedding.name}@{self._embedding.revision}"
        with VectorCache(self._store.root / "cache" / "vectors.sqlite", model) as cache:
            embedded = self._embed(cache, texts + spoken)
            name, folder = self._store.begin()
            vectors = _write_vectors(folder / "passages.npy", cache, texts, self._embedding.dimension, np.float32)
            voiced = _write_vectors(folder / "sentences.npy", cache, spoken, self._embedding.dimension, np.float16)
            asked = self._background(cache)
        owners = list(_owners(entries, bool(spoken)))
        hubs, strangers = hubness.measure(asked, vectors, voiced, owners)
        np.save(folder / "hubs.npy", hubs)
        self._progress("building", 0, 3)
        catalog.write(folder / "catalog.sqlite", entries)
        lexical.build(folder / "words", _rows(entries))
        self._progress("building", 1, 3)
        dense.build(folder / "chroma", collection(name), vectors, self._settings)
        self._progress("building", 2, 3)
        self._store.publish(
            folder,
            Manifest(
                generation=name,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                parent=parent,
                embedding=self._embedding.name,
                revision=self._embedding.revision,
                dimension=self._embedding.dimension,
                chunk_tokens=self._settings.chunk_tokens,
                papers=len(entries),
                passages=len(texts),
                sentences=sum(len(entry.sentences) for entry in entries),
                sentence_vectors=len(spoken),
                strangers=strangers,
                sources=tuple(sources),
            ),
        )
        self._progress("building", 3, 3)
        return name, embedded

    def _entry(self, paper: Paper) -> catalog.Entry:
        spoken = [
            catalog.Sentence(start, end, " ".join(words(paper.abstract[start:end])))
            for start, end in sentences(paper.abstract)
        ]
        title = "" if paper.title_derived else paper.title or ""
        head = " ".join(words("\n".join((title, *paper.authors))))
        return catalog.Entry(paper, head, self._split(paper.abstract), spoken)

    def _split(self, abstract: str) -> list[catalog.Span]:
        """Passages as offsets; an abstract within the token limit is one."""
        spans, at = [], 0
        for chunk in self._splitter.split_text(abstract):
            start = end = _skip_blanks(abstract, at)
            for _ in "".join(chunk.split()):  # the splitter changes the blanks between sentences, and nothing else
                end = _skip_blanks(abstract, end) + 1
            spans.append((start, end))
            at = end
        return spans

    def _background(self, cache: VectorCache) -> NDArray[np.floating]:
        """The vectors of the background questions, which every paper is measured against."""
        questions = [
            f"question: {text}" for text in hubness.questions()
        ]  # its own key: a passage is embedded otherwise
        missing = set(cache.missing(questions))
        if missing:
            new = [question for question in questions if question in missing]
            cache.put(new, np.stack([self._embedding.question(q.removeprefix("question: ")) for q in new]))
        return unit(cache.get(questions))

    def _embed(self, cache: VectorCache, texts: Sequence[str]) -> int:
        missing = sorted(cache.missing(texts), key=len)  # texts of one length waste no padding
        done = 0
        for first in range(0, len(missing), BATCH):
            batch = missing[first : first + BATCH]
            cache.put(batch, self._embedding.passages(batch))
            done += len(batch)
            self._progress("embedding", done, len(missing))
        return done


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _merged(stored: Iterable[Paper], todo: Plan) -> Iterator[Paper]:
    gone = set(todo.drop)
    for paper in stored:
        if paper.id not in gone and paper.id not in todo.papers:
            yield paper
    yield from todo.papers.values()


def _nodes(entry: catalog.Entry) -> Iterator[TextNode]:
    """Paper -> TextNode: the id is the paper's and the offset, the same at every ingest; a real title is in it."""
    paper = entry.paper
    title: dict[str, Any] = {} if paper.title_derived or paper.title is None else {"title": paper.title}
    for start, end in entry.passages:
        yield TextNode(
            id_=f"{paper.id}@{start}",
            text=paper.abstract[start:end],
            start_char_idx=start,
            end_char_idx=end,
            metadata=title,
            metadata_template="{value}",
            text_template="{metadata_str}\n{content}",
        )


def _rows(entries: Iterable[catalog.Entry]) -> Iterator[tuple[int, Paper, str]]:
    row = 0
    for entry in entries:
        for start, end in entry.passages:
            spoken = (s.words for s in entry.sentences if s.start < end and s.end > start)
            yield row, entry.paper, " ".join(spoken)
            row += 1


def _owners(entries: Iterable[catalog.Entry], voiced: bool) -> Iterator[range]:
    """For each passage the rows of its paper's sentences; none where sentences have no vectors."""
    first = 0
    for entry in entries:
        last = first + len(entry.sentences) if voiced else first
        for _ in entry.passages:
            yield range(first, last)
        first = last


def _write_vectors(path: Path, cache: VectorCache, texts: Sequence[str], dimension: int, kind: type) -> dense.Vectors:
    """Vectors in row order; read back through a memory map, so that no list is too long."""
    if not texts:
        np.save(path, np.empty((0, dimension), dtype=kind))
        return np.empty((0, dimension), dtype=np.float32)
    matrix = open_memmap(path, mode="w+", dtype=kind, shape=(len(texts), dimension))
    for first in range(0, len(texts), 4096):
        matrix[first : first + 4096] = unit(cache.get(texts[first : first + 4096]))
    matrix.flush()
    return np.asarray(np.load(path, mmap_mode="r"))
