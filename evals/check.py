"""A set held against the index: papers that are not there, answers that no gold abstract holds, repeats."""

from collections.abc import Mapping, Sequence

from evals.cases import Case
from evals.containment import contains, normalise
from evals.draft import SAME
from evals.resolve import Library, resolve
from rag.errors import InputError, NotFound
from rag.text import query_words
from rag.types import Frozen


class Found(Frozen):
    """`errors` make figures wrong, `warnings` want a look."""

    questions: int
    kinds: dict[str, int]
    languages: dict[str, int]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def check(cases: Sequence[Case], library: Library, keys: Mapping[str, str] | None = None) -> Found:
    errors: list[str] = []
    try:
        cases, missing = resolve(cases, library, keys)
    except InputError as error:
        errors.append(error.message)
        missing = []
    warnings = [f"{key} (optional or near) is not in the index" for key in missing]
    warnings += [told for case in cases for told in _unheld(case, library)]
    warnings += repeats(cases)
    return Found(
        questions=len(cases),
        kinds=_counted([case.kind for case in cases]),
        languages=_counted([case.lang for case in cases]),
        errors=tuple(errors),
        warnings=tuple(warnings),
    )


def _counted(values: Sequence[str]) -> dict[str, int]:
    return {value: values.count(value) for value in sorted(set(values))}


def _unheld(case: Case, library: Library) -> list[str]:
    """Groups of which no string stands in any gold abstract: perhaps a slip, perhaps a translation."""
    texts = []
    for paper_id in (*case.gold, *case.optional):
        try:
            texts.append(normalise(library.paper(paper_id).abstract))
        except NotFound:
            continue
    lost = [group for group in case.must_contain if not any(contains(text, s) for text in texts for s in group)]
    return [f"{case.id}: no gold abstract holds {' or '.join(group)}" for group in lost if texts]


def repeats(cases: Sequence[Case]) -> list[str]:
    """Pairs of questions with mostly the same words and the same conversation before them."""
    words = [(case, set(query_words(case.question))) for case in cases]
    out = []
    for place, (case, first) in enumerate(words):
        for other, second in words[:place]:
            both = len(first & second)
            if both and both >= SAME * (len(first) + len(second) - both) and case.history == other.history:
                out.append(f"{case.id} is much like {other.id}: {case.question}")
    return out
