"""Records what the independent scorer says of made-up outputs over the set that ships, for machines without it.

python -m tests.record_evals ../shared/evals/score.py      writes tests/evals_recorded.json
"""

import json
import random
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from evals import cases as sets
from evals.cases import Case

ROOT = Path(__file__).parents[1]
RECORDED = Path(__file__).parent / "evals_recorded.json"


def made_up(case: Case, papers: list[str], draw: random.Random) -> dict[str, Any]:
    """An output that is right, half right or wrong by chance."""
    ranked = draw.sample(papers, 12)
    if case.gold and draw.random() < 0.7:
        ranked.insert(draw.randrange(4), draw.choice(case.gold))
    forbidden = " ".join(case.must_not_contain) if draw.random() < 0.5 else ""
    said = [draw.choice(group).rstrip("*") for group in case.must_contain if draw.random() < 0.8]
    return {
        "id": case.id,
        "answer": f"It is {draw.choice(['', '**'])}{' and '.join(said) or 'unknown'} [1], see [seed-02]. {forbidden}",
        "citations": draw.sample([*case.gold, *case.optional, *ranked[:2]], min(draw.randrange(3), len(ranked))),
        "abstained": draw.random() < (0.7 if case.expect == "abstain" else 0.15),
        "retrieved": ranked,
    }


def main(scorer: Path) -> None:
    spec = spec_from_file_location("scorer", scorer)
    assert spec and spec.loader
    score = module_from_spec(spec)
    spec.loader.exec_module(score)
    cases = sets.read(ROOT / "evals" / "sets" / "sample.jsonl")
    papers = sorted({paper for case in cases for paper in (*case.gold, *case.near, *case.optional)})
    draw = random.Random(7)
    outputs = [made_up(case, papers, draw) for case in cases][:-2]  # two questions are left without an outcome
    by_id = {one["id"]: one for one in outputs}
    measured = [score.measure(json.loads(case.line()), by_id.get(case.id), score.Mapper()) for case in cases]
    figures = {name: value for name, (value, _) in score.aggregate(measured).items()}
    questions = [json.loads(case.line()) for case in cases]
    RECORDED.write_text(json.dumps({"questions": questions, "outputs": outputs, "figures": figures}, indent=1), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
