"""`confab ask`: one question, one cited answer."""

import argparse
import asyncio
import sys

from rag.errors import UsageError
from rag.settings import Settings
from rag.terminal.narrow import add_filter_arguments, filter_of
from rag.terminal.printable import printable
from rag.types import Answer, Question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", help="the question, in quotes; - reads it from standard input")
    parser.add_argument("--top-k", type=int, metavar="N", help="papers to retrieve (1 to 50)")
    parser.add_argument("--json", action="store_true", help="print the body that POST /chat answers")
    add_filter_arguments(parser)


def run(args: argparse.Namespace, settings: Settings) -> int:
    text = (sys.stdin.read() if sys.stdin else "") if args.question == "-" else args.question
    text = text.encode("utf-8", "replace").decode().strip()
    top_k = settings.top_k if args.top_k is None else args.top_k
    if not text or len(text) > settings.max_question_chars:
        raise UsageError(f"a question has 1 to {settings.max_question_chars} characters, this one has {len(text)}")
    if not 1 <= top_k <= 50:
        raise UsageError(f"--top-k is {top_k}; expected 1 to 50")
    question = Question(text=text, filter=filter_of(args), top_k=top_k)
    answer = asyncio.run(_ask(settings, question))
    print(answer.model_dump_json(indent=2) if args.json else printable(_readable(answer)))
    return 0


async def _ask(settings: Settings, question: Question) -> Answer:
    from rag.engine import open_engine

    engine = open_engine(settings)
    try:
        return await engine.answer(question)
    finally:
        await engine.aclose()


def _readable(answer: Answer) -> str:
    lines = [answer.answer, ""]
    numbers: dict[str, list[int]] = {}
    for citation in answer.citations:
        numbers.setdefault(citation.paper.id, []).append(citation.number)
    papers = {citation.paper.id: citation.paper for citation in answer.citations}
    for paper_id, paper in papers.items():
        where = " ".join(str(part) for part in (paper.venue, paper.year) if part)
        marks = "".join(f"[{number}]" for number in numbers[paper_id])
        lines += [f"{marks} {paper.title} ({where or 'no venue'}; confab show {paper.id})"]
    if answer.nearest:
        lines += ["Nearest papers (reading, not sources):", *(f"  {p.title} ({p.id})" for p in answer.nearest)]
    if answer.dropped:
        lines.append(f"({answer.dropped} unsupported sentences were left out)")
    lines += [f"(degraded: {reason})" for reason in answer.degraded]
    return "\n".join(lines).rstrip()
