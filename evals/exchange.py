"""Sets and runs in the JSONL of ragas and deepeval, both ways. Pure.

ragas (EvaluationDataset.to_jsonl): SingleTurnSample user_input, retrieved_contexts, retrieved_context_ids,
reference_contexts, reference_context_ids, response, reference; MultiTurnSample user_input is a list of
{"content", "type": "human" or "ai"}; the names before 0.2 (question, contexts, answer, ground_truth) are read.
deepeval (EvaluationDataset.save_as): Golden input, actual_output, expected_output, context,
retrieval_context, additional_metadata; the camel-case aliases are read.

Both know papers by their text: a context without an id becomes the key ``sha256:DIGEST`` of its text, which
a run resolves to the paper with that abstract. What they have no field for (kind, must_contain ...) travels
in `additional_metadata` (deepeval) or is left out (ragas).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from evals.cases import Case
from evals.lines import explain, objects
from evals.rows import Row
from rag.errors import InputError
from rag.text import language
from rag.types import text_digest

Format = Literal["ragas", "deepeval"]
_ALIASES = {
    "question": "user_input", "ground_truth": "reference", "ground_truths": "reference", "answer": "response",
    "contexts": "retrieved_contexts", "expectedOutput": "expected_output", "actualOutput": "actual_output",
    "retrievalContext": "retrieval_context", "additionalMetadata": "additional_metadata",
}  # fmt: skip


def read(lines: Iterable[str], name: str, form: Format) -> list[Case]:
    """Cases of a file in that form. Raises InputError naming the line."""
    make = _from_ragas if form == "ragas" else _from_deepeval
    out: list[Case] = []
    for number, value in objects(lines, name):
        known = {_ALIASES.get(key, key): item for key, item in value.items() if item is not None}
        try:
            out.append(Case.model_validate({"id": f"{form}-{number}"} | make(known)))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            wanted = "user_input" if form == "ragas" else "input"
            raise InputError(f"{name} line {number} is no {form} sample with {wanted!r}: {explain(error)}") from None
    if not out:
        raise InputError(f"{name} holds no {form} sample; expected one JSON object a line")
    return out


def keys_of(texts: Sequence[Any], ids: Sequence[Any] = ()) -> list[str]:
    """Gold keys of contexts: their ids where there are any, else digests of their texts."""
    return list(dict.fromkeys([str(i) for i in ids] or [f"sha256:{text_digest(str(text))}" for text in texts]))


def _from_ragas(value: Mapping[str, Any]) -> dict[str, Any]:
    said = value["user_input"]
    history: list[dict[str, str]] = []
    if not isinstance(said, str):
        roles = {"human": "user", "ai": "assistant"}
        turns = [{"role": roles[turn["type"]], "content": turn["content"]} for turn in said if turn["type"] in roles]
        last = max(place for place, turn in enumerate(turns) if turn["role"] == "user")
        said, history = turns[last]["content"], turns[:last]
    reference: Any = value.get("reference")
    if isinstance(reference, list):
        reference = reference[0] if reference else None
    gold = keys_of(value.get("reference_contexts", ()), value.get("reference_context_ids", ()))
    return _case(said, gold, reference, history)


def _from_deepeval(value: Mapping[str, Any]) -> dict[str, Any]:
    more: dict[str, Any] = dict(value.get("additional_metadata") or {})
    case: dict[str, Any] = more.get("confab", {})
    return _case(value["input"], keys_of(value.get("context", ())), value.get("expected_output"), []) | case


def _case(question: str, gold: list[str], reference: str | None, history: list[dict[str, str]]) -> dict[str, Any]:
    """Samples seldom say that nothing answers: without gold either outcome is right, unless metadata says so."""
    return {
        "question": question, "lang": language(question), "gold": gold, "reference": reference, "history": history,
        "expect": "answer" if gold else "either",
    }  # fmt: skip


def write(cases: Sequence[Case], rows: Mapping[str, Row], texts: Mapping[str, str], form: Format) -> str:
    """A set, and a run over it where `rows` has any, in that form. `texts`: paper id -> abstract."""
    make = _to_ragas if form == "ragas" else _to_deepeval
    return "".join(json.dumps(make(case, rows.get(case.id), texts), ensure_ascii=False) + "\n" for case in cases)


def _to_ragas(case: Case, row: Row | None, texts: Mapping[str, str]) -> dict[str, Any]:
    sample: dict[str, Any] = {
        "user_input": case.question,
        "reference_context_ids": list(case.gold),
        "reference_contexts": [texts[paper] for paper in case.gold if paper in texts],
        "reference": case.reference or case.note or None,
    }
    if row is not None:
        sample |= {
            "retrieved_context_ids": list(row.retrieved),
            "retrieved_contexts": [texts[paper] for paper in row.retrieved if paper in texts],
            "response": row.answer,
        }
    return {name: value for name, value in sample.items() if value is not None}


def _to_deepeval(case: Case, row: Row | None, texts: Mapping[str, str]) -> dict[str, Any]:
    golden: dict[str, Any] = {
        "input": case.question,
        "expected_output": case.reference or case.note or None,
        "context": [texts[paper] for paper in case.gold if paper in texts],
        "additional_metadata": {"confab": json.loads(case.line())},
    }
    if row is not None:
        golden |= {
            "actual_output": row.answer,
            "retrieval_context": [texts[paper] for paper in row.retrieved if paper in texts],
        }
    return {name: value for name, value in golden.items() if value is not None}
