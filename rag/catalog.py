"""The truth: papers and their texts in one SQLite file, vectors in row order beside it. Pure of any index.

A row is a passage: papers stand in the order of year, venue and id, and a paper's passages in the
order of the text, so that a filter by year or venue is a run of rows. Sentences are numbered through
all papers; `sentence_rows` tells where a paper's stand.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag.errors import Corrupt
from rag.text import fold, venue_and_year
from rag.types import Filter, Paper

SCHEMA = """
CREATE TABLE papers (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, abstract TEXT NOT NULL,
    title TEXT, title_derived INTEGER NOT NULL, authors TEXT NOT NULL, venue TEXT, year INTEGER,
    url TEXT, topic TEXT, extra TEXT NOT NULL,
    venue_key TEXT, topic_key TEXT, author_key TEXT NOT NULL,
    head_words TEXT NOT NULL, sentence_first INTEGER NOT NULL, sentence_last INTEGER NOT NULL
) STRICT;
CREATE INDEX by_venue ON papers (venue_key, year);
CREATE TABLE passages (
    row INTEGER PRIMARY KEY, paper INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL
) STRICT;
CREATE INDEX by_paper ON passages (paper);
CREATE TABLE sentences (
    row INTEGER PRIMARY KEY, start INTEGER NOT NULL, "end" INTEGER NOT NULL, words TEXT NOT NULL
) STRICT;
"""
COLUMNS = "id, abstract, title, title_derived, authors, venue, year, url, topic, extra"

Rows = NDArray[np.int64]
Span = tuple[int, int]


class Sentence(NamedTuple):
    """A slice of an abstract and its search words, separated by blanks."""

    start: int
    end: int
    words: str


class Entry(NamedTuple):
    """A paper as it is stored. `head_words` are those of a real title and of the authors."""

    paper: Paper
    head_words: str
    passages: Sequence[Span]
    sentences: Sequence[Sentence]


class Passage(NamedTuple):
    row: int
    paper: Paper
    start: int
    end: int
    head_words: str
    sentences: range
    """Rows of the sentences of the whole paper."""


def order(paper: Paper) -> tuple[int, str, str]:
    """The order of rows: a filter by year or venue is then a run."""
    return (paper.year or 0, fold(paper.venue or ""), paper.id)


def write(path: Path, entries: Iterable[Entry]) -> None:
    """A new catalog at `path` from entries that stand in `order`."""
    with sqlite3.connect(path, isolation_level=None) as db:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;" + SCHEMA)
        row = sentence = 0
        for n, entry in enumerate(entries):
            last = sentence + len(entry.sentences)
            db.execute(
                f"INSERT INTO papers VALUES ({','.join('?' * 18)})",
                (n, *_columns(entry.paper), entry.head_words, sentence, last),
            )
            db.executemany(
                "INSERT INTO passages VALUES (?, ?, ?, ?)",
                [(row + i, n, start, end) for i, (start, end) in enumerate(entry.passages)],
            )
            db.executemany(
                "INSERT INTO sentences VALUES (?, ?, ?, ?)",
                [(sentence + i, *spoken) for i, spoken in enumerate(entry.sentences)],
            )
            row, sentence = row + len(entry.passages), last
        db.execute("COMMIT")
    db.close()


def _columns(paper: Paper) -> tuple[Any, ...]:
    authors = " \n ".join(" ".join(fold(name).replace(".", " ").split()) for name in paper.authors)
    return (
        paper.id,
        paper.digest,
        paper.abstract,
        paper.title,
        paper.title_derived,
        json.dumps(paper.authors, ensure_ascii=False),
        paper.venue,
        paper.year,
        paper.url,
        paper.topic,
        json.dumps(paper.extra, ensure_ascii=False, sort_keys=True),
        fold(paper.venue) if paper.venue else None,
        fold(paper.topic) if paper.topic else None,
        authors,
    )


class Catalog:
    """A catalog opened to be read, by any number of threads (a connection each)."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise Corrupt(f"{path.name} is missing from {path.parent.name}; run `confab index verify`")
        self._uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        try:
            self.papers: int = self._one("SELECT count(*) FROM papers")[0]
            self.passages: int = self._one("SELECT count(*) FROM passages")[0]
            self.sentences: int = self._one("SELECT count(*) FROM sentences")[0]
            papers = self._db.execute("SELECT paper FROM passages ORDER BY row").fetchall()
        except sqlite3.DatabaseError as error:
            raise Corrupt(
                f"{path.name} of {path.parent.name} cannot be read ({error}); `confab index rollback` serves an older "
                "generation, `confab ingest --rebuild PATH` makes a new one"
            ) from error
        self.paper_of_row: Rows = np.array([n for (n,) in papers], dtype=np.int64)

    @property
    def _db(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
            self._open.append(db)
        return db

    def close(self) -> None:
        for db in self._open:
            db.close()
        self._open.clear()

    def _one(self, sql: str, *values: Any) -> Any:
        return self._db.execute(sql, values).fetchone()

    def paper(self, paper_id: str) -> Paper | None:
        row = self._one(f"SELECT {COLUMNS} FROM papers WHERE id = ?", paper_id)
        return _paper(row) if row else None

    def all_papers(self) -> Iterator[Paper]:
        """Every paper in row order, read as it is asked for."""
        yield from map(_paper, self._db.execute(f"SELECT {COLUMNS} FROM papers ORDER BY n"))

    def digests(self) -> dict[str, str]:
        """Id -> digest of every paper: what a plan compares."""
        return dict(self._db.execute("SELECT id, digest FROM papers"))

    def passage(self, row: int) -> Passage:
        names = ", ".join(f"p.{name}" for name in COLUMNS.split(", "))
        found = self._one(
            f'SELECT {names}, p.head_words, p.sentence_first, p.sentence_last, s.start, s."end" '
            "FROM passages s JOIN papers p ON p.n = s.paper WHERE s.row = ?",
            row,
        )
        if found is None:
            raise Corrupt(f"the catalog has no passage {row}; run `confab index verify`")
        head_words, first, last, start, end = found[-5:]
        return Passage(row, _paper(found[:-5]), start, end, head_words, range(first, last))

    def sentence_rows(self, row: int) -> range:
        """Rows of the sentences of the paper that passage `row` belongs to."""
        first, last = self._one(
            "SELECT sentence_first, sentence_last FROM papers WHERE n = ?", int(self.paper_of_row[row])
        )
        return range(first, last)

    def spoken(self, rows: range) -> list[Sentence]:
        """Consecutive sentences."""
        sql = 'SELECT start, "end", words FROM sentences WHERE row >= ? AND row < ? ORDER BY row'
        return [Sentence(*row) for row in self._db.execute(sql, (rows.start, rows.stop))]

    def row_of(self, paper_id: str) -> int | None:
        """The first passage of a paper."""
        row = self._one("SELECT min(s.row) FROM passages s JOIN papers p ON p.n = s.paper WHERE p.id = ?", paper_id)
        return row[0] if row else None

    def rows(self, filter: Filter) -> Rows | None:
        """Passage rows that a filter allows, ascending; None where it allows all."""
        if filter.empty:
            return None
        where, values = _where(filter)
        papers = self._db.execute(f"SELECT n, id, author_key FROM papers WHERE {where} ORDER BY n", values)
        wanted = set(filter.ids) if filter.ids is not None else None
        author = fold(filter.author).replace(".", " ").split() if filter.author else []
        allowed = [
            n for n, id_, key in papers if (wanted is None or id_ in wanted) and (not author or _wrote(key, author))
        ]
        return np.flatnonzero(np.isin(self.paper_of_row, np.array(allowed, dtype=np.int64)))


def _where(filter: Filter) -> tuple[str, list[Any]]:
    parts, values = ["1"], list[Any]()
    if filter.venue is not None:
        venue, year = venue_and_year(filter.venue)
        parts.append("venue_key = ?")
        values.append(fold(venue))
        if year is not None:
            parts.append("year = ?")
            values.append(year)
    if filter.year is not None:
        parts.append("year BETWEEN ? AND ?")
        values += filter.year
    if filter.topic is not None:
        topic = fold(filter.topic.strip())
        parts.append("(instr('->' || topic_key || '->', ?) > 0)")  # a topic is a path such as Applications->Robotics
        values.append(f"->{topic}->")
    return " AND ".join(parts), values


def _wrote(author_key: str, words: Sequence[str]) -> bool:
    return any(set(words) <= set(name.split()) for name in author_key.split("\n"))


def _paper(row: tuple[Any, ...]) -> Paper:
    id_, abstract, title, derived, authors, venue, year, url, topic, extra = row
    return Paper.model_construct(
        id=id_,
        abstract=abstract,
        title=title,
        title_derived=bool(derived),
        authors=tuple(json.loads(authors)),
        venue=venue,
        year=year,
        url=url,
        topic=topic,
        extra=json.loads(extra),
    )
