"""How often the checks of `rag.citations` are right: `python -m evals.support CORPUS QUERIES QRELS` (BEIR files).

Takes a set of one-line summaries and their papers, as `iclr2018-tldr`. Printed for each kind of sentence is the share
that is shown: summaries citing their own paper (should be high, though a TL;DR is further from its abstract than
an answer is), citing another paper, and sentences of abstracts as they are, with a number changed, with a denial put
in or taken out (should be 1.0, then near 0).
"""

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from rag.citations import Checker
from rag.text import sentences
from rag.types import Paper, Source

STEP = 7919  # a prime: walks through a corpus in a fixed order that is not its own
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w.,-]*\w)")
VERB = re.compile(r"\b(is|are|can|does|do)\b(?! not)")
DENIED = re.compile(r"\b(not) |\b(can)not\b")

Case = tuple[str, str, str]  # kind, sentence, id of the paper it cites


def rows(path: Path) -> Iterator[dict[str, str]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    yield from (json.loads(line) for line in text.split("\n") if line)


def summaries(queries: dict[str, str], qrels: Path, ids: list[str]) -> Iterator[Case]:
    for n, line in enumerate(qrels.read_text(encoding="utf-8").split("\n")):
        known = [part for part in line.split() if part in queries or part in ids]
        if len(known) < 2 or len(sentences(queries[known[0]])) != 1:
            continue
        said = queries[known[0]].strip().rstrip(".")
        yield "summary of it", said, known[1]
        yield "summary of another", said, ids[n * STEP % len(ids)]


def changed(corpus: dict[str, str], ids: list[str], most: int) -> Iterator[Case]:
    for n in range(most):
        paper = ids[n * STEP % len(ids)]
        spans = sentences(corpus[paper])
        if not spans:
            continue
        start, end = spans[n % len(spans)]
        said = corpus[paper][start:end].rstrip(".").replace("\n", " ")
        yield "verbatim", said, paper
        for kind, pattern, put in (
            ("number changed", NUMBER, lambda m: str(int(float(m[0])) + 3)),
            ("denial put in", VERB, lambda m: m[0] + " not"),
            ("denial taken out", DENIED, lambda m: m[2] or ""),
        ):
            if pattern.search(said):
                yield kind, pattern.sub(put, said, count=1), paper


def shown(said: str, paper: Paper) -> str:
    """ "shown", or the kind of reason why not."""
    checker = Checker([Source(key="S1", paper=paper, start=0, end=len(paper.abstract))], "What do the papers say?")
    checker.feed(f"{said} [S1].")
    checker.finish()
    return "shown" if checker.text else next(iter(checker.drop_reasons), "nothing said")


def report(cases: Iterable[Case], corpus: dict[str, str]) -> Iterator[str]:
    counts: dict[str, Counter[str]] = {}
    for kind, said, paper in cases:
        counts.setdefault(kind, Counter())[shown(said, Paper(id=paper, abstract=corpus[paper]))] += 1
    for kind, found in counts.items():
        total = found.total()
        reasons = ", ".join(f"{reason} {count}" for reason, count in found.most_common(6) if reason != "shown")
        yield f"{kind:20} shown {found['shown'] / total:.3f} of {total}   dropped: {reasons or 'none'}"


def main(corpus_file: Path, queries_file: Path, qrels: Path, most: int = 1000) -> None:
    corpus = {row["_id"]: row["text"] for row in rows(corpus_file)}
    queries = {row["_id"]: row["text"] for row in rows(queries_file)}
    ids = list(corpus)
    cases = [*summaries(queries, qrels, ids), *changed(corpus, ids, most)]
    sys.stdout.write("\n".join(report(cases, corpus)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
