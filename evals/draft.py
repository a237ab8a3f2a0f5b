"""Questions proposed from the corpus, for a person to keep or drop.

Without an LLM from what a paper says of itself: "we propose NAME, a DESCRIPTION" asks for the name, a title for
the paper, a sentence with a figure for the figure. With one, from the abstract, in a newcomer's words. Questions
that were asked before in other words, and such as several papers answer, are flagged.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from evals.cases import Case
from evals.containment import contains, normalise
from rag.models.chat import ChatModel, Message, Piece
from rag.text import language, plain, query_words, sentences
from rag.types import Hit, Paper, Question

VERSION = "draft-1"
SAME = 0.7
"""Share of words in common (Jaccard) from which two questions are near-duplicates."""
LOOKED_AT = 10
_PROPOSED = re.compile(
    r"\b(?:propose|present|introduce|develop)s?\s+(?P<name>[A-Z][\w-]*[A-Z0-9][\w-]*)(?:\s*\([^)]{0,80}\))?"
    r",\s+(?P<what>(?:an?|the)\s[^.;]{15,220})"
)
_FIGURE = re.compile(
    r"(?<![\w.])(\d[\d.,]*\d|\d)\s?(%|percent|times|x\b|models|benchmarks|datasets|tasks|minutes|hours)"
)
PROMPT = (
    "Write one question that a newcomer to the field might ask and that only this abstract answers. Do not use the "
    "names it gives to its own method or data. Reply with one JSON object: "
    '{"question": "...", "answer": ["a short string that a right answer must contain", "..."]}.'
)


class Draft(NamedTuple):
    """A proposal. `flags` say why a person should look twice."""

    case: Case
    paper: Paper
    flags: tuple[str, ...] = ()


class Searched(Protocol):
    def hits(self, question: Question) -> list[Hit]: ...


def propose(papers: Sequence[Paper], count: int, seed: int = 0) -> Iterator[Draft]:
    """At most `count` questions, one a paper, papers in an order that `seed` draws. No model is asked."""
    order = sorted(papers, key=lambda paper: hashlib.sha256(f"{seed} {paper.id}".encode()).hexdigest())
    made = 0
    for paper in order:
        drafts = list(of_paper(paper))
        if made < count and drafts:
            made += 1
            yield drafts[made % len(drafts)]  # kinds take turns


def of_paper(paper: Paper) -> Iterator[Draft]:
    """All that can be asked about a paper from its own words."""
    text = plain(paper.abstract)
    if found := _PROPOSED.search(text):
        yield _draft(paper, f"Which work introduces {found['what'].strip()}?", found["name"], "name")
    if paper.title and not paper.title_derived:
        about = paper.title.rpartition(": ")[2].strip().rstrip(".")
        yield _draft(paper, f"Which paper is about this: {about}?", None, "title")
    for start, end in sentences(text):
        if figure := _FIGURE.search(text, start, end):
            gap = f"{text[start : figure.start(1)]}…{text[figure.end(1) : end]}".strip().rstrip(".")
            yield _draft(paper, f'Which figure belongs in the gap: "{gap}"?', figure[1], "figure")
            break


def _draft(paper: Paper, question: str, answer: str | None, kind: str) -> Draft:
    wanted = ((answer,),) if answer else ()
    case = Case(
        id=f"draft-{hashlib.sha256(question.encode()).hexdigest()[:10]}", question=question, lang=language(question),
        kind=kind, gold=(paper.id,), titles=(paper.title,) if paper.title else (), must_contain=wanted,
    )  # fmt: skip
    return Draft(case, paper)


async def written(model: ChatModel, paper: Paper) -> Draft | None:
    """A question by an LLM; None where its reply is none. Raises UpstreamError."""
    said = ""
    words = [Message(role="system", content=PROMPT), Message(role="user", content=paper.abstract)]
    async for piece in model.stream(words, max_tokens=200):
        said += piece.text if isinstance(piece, Piece) else ""
    found = re.search(r"\{.*\}", said, re.S)
    try:
        value = json.loads(found[0]) if found else {}
        question, answer = str(value["question"]).strip(), [str(one) for one in value["answer"] if str(one).strip()]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not question:
        return None
    draft = _draft(paper, question, None, "written")
    return draft._replace(case=draft.case.model_copy(update={"must_contain": tuple((one,) for one in answer)}))


def flagged(draft: Draft, before: Sequence[Case], engine: Searched) -> Draft:
    """The draft with what is doubtful about it."""
    flags = [f"much like {case.id}: {case.question}" for case in before if alike(case.question, draft.case.question)]
    hits = engine.hits(Question(text=draft.case.question, top_k=LOOKED_AT))
    if draft.paper.id not in [hit.paper.id for hit in hits]:
        flags.append(f"its paper is not among the first {LOOKED_AT}")
    also = [hit.paper for hit in hits if hit.paper.id != draft.paper.id and answers(hit.paper, draft.case)]
    flags += [f"may also be answered by {paper.id}: {paper.title or ''}" for paper in also]
    return draft._replace(flags=tuple(flags))


def answers(paper: Paper, case: Case) -> bool:
    """Whether a paper holds what the answer must contain, and most words of the question."""
    asked = set(query_words(case.question))
    spoken = set(query_words(paper.abstract)) | set(query_words(paper.title or ""))
    if not asked or len(asked & spoken) < 0.6 * len(asked):
        return False
    text = normalise(paper.abstract)
    return all(any(contains(text, choice) for choice in group) for group in case.must_contain)


def alike(one: str, other: str) -> bool:
    """Near-duplicates: mostly the same words."""
    first, second = set(query_words(one)), set(query_words(other))
    return bool(first | second) and len(first & second) >= SAME * len(first | second)
