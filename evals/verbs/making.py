"""check, draft, from-feedback."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from evals import cases as sets
from evals import saving
from evals.cases import Case
from evals.draft import Draft
from evals.lines import lines_of
from evals.outcome import Outcome
from evals.progress import say
from rag.errors import InputError
from rag.settings import Settings

CLOSED = "standard input ended before every proposal was answered: keeping needs a terminal, or --keep-all"


def check(args: argparse.Namespace, settings: Settings) -> Outcome:
    from evals.check import check as checked
    from rag.engine import open_engine

    cases = saving.read_set(args.set, queries=args.queries, split=args.split)
    found = checked(cases, open_engine(settings), saving.keys_of(args.keys))
    lines = [f"{found.questions} questions; kinds {found.kinds}; languages {found.languages}"]
    lines += [f"error: {told}" for told in found.errors] + [f"warning: {told}" for told in found.warnings]
    lines += ["" if found.errors else "The set fits the index."]
    return Outcome(found.model_dump(), "\n".join(lines), InputError.exit_code if found.errors else 0)


def draft(args: argparse.Namespace, settings: Settings) -> Outcome:
    from evals import draft as drafting
    from rag.engine import open_engine

    engine = open_engine(settings)
    there = sets.read(args.out) if args.out.is_file() else []
    proposals = list(drafting.propose(list(engine.papers()), args.count, args.seed))
    if settings.has_llm:
        proposals = asyncio.run(_written(proposals, settings))
    kept, terminal = list(there), Terminal()
    for proposal in proposals:
        marked = drafting.flagged(proposal, kept, engine)
        if args.keep_all:
            kept += [] if marked.flags else [marked.case]
            continue
        answer = decide(marked, terminal.ask)
        if answer is None:
            break
        kept += [answer] if isinstance(answer, Case) else []
    new = _add(args.out, there, kept[len(there) :])
    data = {"file": str(args.out), "kept": [case.id for case in new]}
    told = f"{len(new)} questions added to {args.out}"
    if terminal.closed:
        data["stopped"] = CLOSED
        told += f"; {CLOSED}"
    return Outcome(data, told)


async def _written(proposals: Sequence[Draft], settings: Settings) -> list[Draft]:
    """The same papers, asked about by the LLM; where it fails, what was proposed without."""
    from evals.draft import written
    from rag.models.chat import build

    model = build(settings)
    assert model is not None
    try:
        return [await written(model, proposal.paper) or proposal for proposal in proposals]
    finally:
        await model.aclose()


class Terminal:
    """Where a person answers. `closed`: an answer was wanted when standard input was at its end, or closed."""

    closed = False

    def ask(self, prompt: str) -> str | None:
        """A line; None at the end. The prompt goes to stderr, so that stdout stays a result."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline() if sys.stdin else ""  # Python has none where the shell closed it
        self.closed = not line
        return line.strip() if line else None


def decide(proposal: Draft, ask: Callable[[str], str | None]) -> Case | bool | None:
    """A case to keep, False to drop, None to stop."""
    case = proposal.case
    say(f"\n{case.question}\n  {proposal.paper.title or proposal.paper.id} ({proposal.paper.id})")
    if case.must_contain:
        say(f"  must contain: {'; '.join(' or '.join(group) for group in case.must_contain)}")
    for flag in proposal.flags:
        say(f"  ! {flag}")
    while True:
        answer = ask("[k]eep, [d]rop, [e]dit the question, [q]uit: ")
        if answer is None or answer[:1] == "q":
            return None
        if answer[:1] in ("k", "d"):
            return case if answer[:1] == "k" else False
        if answer[:1] == "e" and (text := ask("question: ")):
            return case.model_copy(update={"question": text})


def from_feedback(args: argparse.Namespace, settings: Settings) -> Outcome:
    from evals import feedback
    from evals.check import repeats

    cases = feedback.cases(feedback.parse(lines_of(args.feedback), args.feedback.name))
    there = sets.read(args.out) if args.out.is_file() else []
    new = _add(args.out, there, cases)
    warnings = repeats([*there, *new])
    review = [case.id for case in new if case.kind == "to-review"]
    text = f"{len(new)} questions added to {args.out}, {len(review)} of them to review"
    return Outcome(
        {"file": str(args.out), "added": [case.id for case in new], "to_review": review, "warnings": warnings},
        "\n".join([text, *(f"warning: {told}" for told in warnings)]),
    )


def _add(path: Path, there: Sequence[Case], new: Sequence[Case]) -> list[Case]:
    """Append what is new by its id."""
    known = {case.id for case in there}
    fresh = [case for case in new if case.id not in known]
    if fresh:
        path.write_text(sets.dump([*there, *fresh]), "utf-8")
    return fresh
