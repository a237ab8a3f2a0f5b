"""How far a judge agrees with people: hand labels and Cohen's kappa. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from evals.lines import explain, objects
from evals.metrics import JUDGED
from rag.errors import InputError
from rag.types import Frozen


class Label(Frozen):
    """What a person thinks: `label` is 1 for yes, 0 for no."""

    id: str
    judge: str
    label: int = Field(ge=0, le=1)


class Agreement(NamedTuple):
    """`kappa` is None where chance explains everything (all of one kind), or nothing is labelled."""

    kappa: float | None
    agreed: float | None
    n: int


def labels(lines: Iterable[str], name: str) -> list[Label]:
    """Hand labels. Raises InputError naming the line."""
    out = []
    for number, value in objects(lines, name):
        try:
            out.append(Label.model_validate({key: value.get(key) for key in Label.model_fields}))
        except ValidationError as error:
            raise InputError(f"{name} line {number}: expected id, judge and label (0 or 1): {explain(error)}") from None
    return out


def agreement(judged: Mapping[str, Mapping[str, float | None]], by_hand: Sequence[Label]) -> dict[str, Any]:
    """Judge -> Agreement over the questions that both scored."""
    out = {}
    for name in JUDGED:
        pairs = [
            (score >= 0.5, bool(one.label))
            for one in by_hand
            if one.judge == name and (score := judged.get(one.id, {}).get(name)) is not None
        ]
        if pairs:
            out[name] = kappa(pairs)._asdict()
    return out


def kappa(pairs: Sequence[tuple[bool, bool]]) -> Agreement:
    """Cohen's kappa (Educational and Psychological Measurement 20, 1960): agreement beyond chance."""
    if not pairs:
        return Agreement(None, None, 0)
    n = len(pairs)
    agreed = sum(one == other for one, other in pairs) / n
    first, second = sum(one for one, _ in pairs) / n, sum(other for _, other in pairs) / n
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(None if chance == 1 else round((agreed - chance) / (1 - chance), 6), round(agreed, 6), n)
