"""Retrieval benchmarks: BEIR folders (corpus, queries, qrels) and the files of TREC (runs, qrels).

FOLDER/corpus.jsonl[.gz]   {"_id", "title", "text", ...} a line
FOLDER/queries.jsonl       {"_id", "text", ...}; also queries_ko.jsonl and the like
FOLDER/qrels/test.tsv      query-id, corpus-id, score, tab separated, with a header
TREC qrels                 query 0 document grade
TREC run                   query Q0 document rank score tag
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from evals import lines as reading
from evals.cases import Case
from evals.lines import objects
from evals.rows import Row, once
from rag.errors import InputError
from rag.text import language

Qrels = dict[str, dict[str, int]]


def lines_of(path: Path) -> list[str]:
    """Lines of a UTF-8 file, packed or not. Raises InputError."""
    if path.suffix != ".gz":
        return reading.lines_of(path)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return reading.split(file.read())
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); expected gzip-packed UTF-8") from None


def corpus_file(folder: Path) -> Path:
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder} has no corpus.jsonl or corpus.jsonl.gz; expected a BEIR folder")


def papers(folder: Path) -> Iterator[dict[str, object]]:
    """The corpus as records that `confab ingest` reads: id, title, abstract, and year and url where given."""
    path = corpus_file(folder)
    for number, value in objects(lines_of(path), path.name):
        if not isinstance(value.get("_id"), str) or not isinstance(value.get("text"), str):
            raise InputError(f"{path.name} line {number}: expected strings _id and text")
        record: dict[str, object] = {"id": value["_id"], "abstract": value["text"]}
        record |= {name: value[name] for name in ("title", "url") if value.get(name)}
        if re.fullmatch(r"(?:18|19|20|21)\d\d", str(value.get("year") or "")):  # some sets hold slips such as 801
            record["year"] = int(value["year"])
        yield record


def cases(folder: Path, *, queries: str = "queries.jsonl", split: str = "test") -> list[Case]:
    """The judged queries of a split. A query that is itself a paper (`paper_id`) leaves that paper out."""
    grades = qrels(folder / "qrels" / f"{split}.tsv")
    out = []
    for number, value in objects(lines_of(folder / queries), queries):
        if not isinstance(value.get("_id"), str) or not isinstance(value.get("text"), str):
            raise InputError(f"{queries} line {number}: expected strings _id and text")
        if value["_id"] in grades:
            own = (str(value["paper_id"]),) if value.get("paper_id") else ()
            out.append(_case(value["_id"], value["text"], str(value.get("facet") or split), grades[value["_id"]], own))
    if not out:
        raise InputError(f"no query of {folder / queries} is judged in qrels/{split}.tsv; are they of the same set?")
    return out


def _case(key: str, text: str, kind: str, grades: Mapping[str, int], exclude: tuple[str, ...]) -> Case:
    gold = {paper: grade for paper, grade in grades.items() if grade > 0 and paper not in exclude}
    graded = gold if any(grade > 1 for grade in gold.values()) else {}
    return Case(
        id=key, question=text, lang=language(text), kind=kind, gold=tuple(gold), grades=graded, exclude=exclude,
        expect="answer" if gold else "abstain",
    )  # fmt: skip


def qrels(path: Path) -> Qrels:
    """Judgements of a BEIR table or a TREC file: query -> paper -> grade. Raises InputError naming the line."""
    out: Qrels = {}
    for number, line in enumerate(lines_of(path), 1):
        parts = line.split("\t") if "\t" in line else line.split()
        if not parts or (number == 1 and parts[0] == "query-id"):
            continue
        if len(parts) == 4:
            del parts[1]
        if len(parts) != 3 or not parts[2].strip().lstrip("-").isdigit():
            raise InputError(f"{path.name} line {number}: expected `query [0] document grade`, got {line[:80]!r}")
        out.setdefault(parts[0], {})[parts[1]] = int(parts[2])
    return out


def run_rows(lines: Iterable[str], name: str) -> list[Row]:
    """Rows from a TREC run: by score, then by rank as given. Raises InputError naming the line."""
    scores: dict[str, list[tuple[float, int, str]]] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        try:
            query, _, document, rank, score, *_ = parts
            scores.setdefault(query, []).append((-float(score), int(rank), document))
        except ValueError:
            raise InputError(f"{name} line {number}: expected `query Q0 document rank score tag`") from None
    depth = max([10, *map(len, scores.values())])
    return [Row(id=key, retrieved=once(doc for *_, doc in sorted(found)), depth=depth) for key, found in scores.items()]


def run_text(rows: Iterable[Row], tag: str = "confab") -> str:
    """A run in the form of TREC. Scores are the list's own order, so that no reader breaks ties anew."""
    lines = []
    for row in rows:
        total = len(row.retrieved)
        lines += [f"{row.id} Q0 {paper} {rank} {total - rank + 1} {tag}" for rank, paper in enumerate(row.retrieved, 1)]
    return "".join(line + "\n" for line in lines)


def qrels_text(questions: Sequence[Case]) -> str:
    """Judgements in the form of TREC."""
    pairs = [(case.id, paper, grade) for case in questions for paper, grade in case.relevance.items()]
    return "".join(f"{key} 0 {paper} {grade}\n" for key, paper, grade in pairs)


def ingestible(folder: Path) -> str:
    """The corpus as the text of a JSONL list for `confab ingest`; records without a text are left out."""
    return "".join(
        json.dumps(paper, ensure_ascii=False) + "\n" for paper in papers(folder) if str(paper["abstract"]).strip()
    )
