"""Questions with known answers: one JSON object a line, checked, with the line named where it is wrong.

Fields as in the shared question sets (`question lang kind gold must_contain must_not_contain optional
near expect history titles note`), and three of ours: `grades` (paper -> relevance, where a set grades
it), `exclude` (papers left out of the ranking, as CSFCube asks) and `reference` (a right answer in words,
for judges).
"""

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from evals.lines import lines_of, objects
from rag.errors import InputError
from rag.text import language
from rag.types import Frozen, Turn

Expect = Literal["answer", "abstain", "either"]
SHOWN_PROBLEMS = 20


class Case(Frozen):
    """One question. `gold` = keys of the papers that answer it (a good answer cites all); empty = nothing does.

    `must_contain` is a list of groups: a right answer has at least one string of every group.
    `optional` papers may be cited without penalty; `near` is what a good search finds although it does
    not hold the answer. `expect` "either": answering and declining are both right.
    """

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    lang: str = Field("en", min_length=1)
    kind: str = "qa"
    gold: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    must_contain: tuple[tuple[str, ...], ...] = ()
    must_not_contain: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    expect: Expect = "answer"
    history: tuple[Turn, ...] = ()
    note: str = ""
    grades: dict[str, int] = Field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    reference: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        """Without `expect`: answer where there is gold. Without `lang`: the script of the question."""
        if not isinstance(data, Mapping):
            return data
        filled = dict(data)
        filled.setdefault("expect", "answer" if filled.get("gold") else "abstain")
        if "lang" not in filled and isinstance(filled.get("question"), str):
            filled["lang"] = language(filled["question"])
        return filled

    @model_validator(mode="after")
    def _consistent(self) -> "Case":
        if not self.question.strip():
            raise ValueError("question is blank")
        if len(set(self.gold)) < len(self.gold):
            raise ValueError("gold names a paper twice")
        if both := set(self.gold) & set(self.optional):
            raise ValueError(f"{', '.join(sorted(both))} is both gold and optional")
        if strange := set(self.grades) - set(self.gold):
            raise ValueError(f"grades has {', '.join(sorted(strange))}, which is not in gold")
        if any(grade < 1 for grade in self.grades.values()):
            raise ValueError("a grade is at least 1; leave out what is not relevant")
        if any(not group or not all(group) for group in self.must_contain) or not all(self.must_not_contain):
            raise ValueError("must_contain and must_not_contain hold no empty group or string")
        if self.expect == "abstain" and (self.gold or self.must_contain):
            raise ValueError("expect is abstain, so gold and must_contain are empty (use near for the closest paper)")
        return self

    @property
    def relevance(self) -> dict[str, int]:
        """Paper -> grade of relevance, 1 where the set does not grade."""
        return {paper: self.grades.get(paper, 1) for paper in self.gold}

    @property
    def cluster(self) -> str:
        """Questions about one paper are no independent draws: same gold (else same near), same cluster."""
        papers = self.gold or self.near
        return "+".join(sorted(papers)) if papers else f"question {self.id}"

    def line(self) -> str:
        """The case as one line of a set: only what was given, in the order of the fields."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        always = {"lang": self.lang, "kind": self.kind, "gold": list(self.gold), "expect": self.expect}
        ordered = {name: (values | always)[name] for name in Case.model_fields if name in values or name in always}
        return json.dumps(ordered, ensure_ascii=False)


def parse(lines: Iterable[str], name: str) -> list[Case]:
    """Cases of a set. Raises InputError that lists what is wrong, each with its line."""
    cases: list[Case] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for number, value in objects(lines, name):
        try:
            case = Case.model_validate(value)
        except ValidationError as error:
            problems += [f"line {number}: {problem}" for problem in _explain(error)]
            continue
        if case.id in seen:
            problems.append(f"line {number}: id {case.id!r} was used on line {seen[case.id]}; ids are unique")
        seen.setdefault(case.id, number)
        cases.append(case)
    if problems:
        more = len(problems) - SHOWN_PROBLEMS
        shown = problems[:SHOWN_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
        raise InputError(f"{name} is no usable question set:\n  " + "\n  ".join(shown))
    if not cases:
        raise InputError(f"{name} holds no question; expected one JSON object a line")
    return cases


def _explain(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            close = difflib.get_close_matches(where, Case.model_fields, n=1)
            message = f"is no field of a case{f'; did you mean {close[0]}?' if close else ''}"
        yield f"{where}: {message}" if where else message


def read(path: Path) -> list[Case]:
    """Cases of the file at `path`. Raises InputError."""
    return parse(lines_of(path), path.name)


def dump(cases: Iterable[Case]) -> str:
    """The text of a set."""
    return "".join(case.line() + "\n" for case in cases)


def digest(cases: Iterable[Case]) -> str:
    """Names a set of questions whatever its file is called: SHA-256 (hex) over its cases."""
    return hashlib.sha256(dump(cases).encode("utf-8", "surrogatepass")).hexdigest()
