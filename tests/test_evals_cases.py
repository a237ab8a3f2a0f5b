"""Question sets: what is read, and how a wrong line is named."""

import json
from pathlib import Path

import pytest

from evals import cases
from rag.errors import InputError

GOOD = {"id": "a1", "question": "What is COFT?", "lang": "en", "kind": "fact", "gold": ["p1"], "expect": "answer"}


def lines(*values: dict[str, object] | str) -> list[str]:
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def test_a_set_is_read_with_every_field_of_the_shared_format() -> None:
    full = GOOD | {
        "titles": ["T"], "must_contain": [["x", "y*"]], "must_not_contain": ["z"], "optional": ["p2"], "near": ["p3"],
        "history": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello [p1]"}], "note": "n",
    }  # fmt: skip
    (case,) = cases.parse(lines(full), "set.jsonl")
    assert case.must_contain == (("x", "y*"),)
    assert case.history[1].role == "assistant"
    assert cases.parse([case.line()], "again") == [case]


def test_what_is_left_out_is_filled_from_the_question() -> None:
    unanswerable, chinese = cases.parse(
        lines({"id": "1", "question": "Who?"}, {"id": "2", "question": "这是什么方法？", "gold": ["p"]}), "set"
    )
    assert (unanswerable.expect, unanswerable.lang) == ("abstain", "en")
    assert (chinese.expect, chinese.lang) == ("answer", "zh")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "line 2: not JSON"),
        ("[1]", "line 2: expected a JSON object"),
        (GOOD | {"id": "a1"}, "line 2: id 'a1' was used on line 1"),
        (
            GOOD | {"id": "b", "must_contains": []},
            "line 2: must_contains: is no field of a case; did you mean must_contain?",
        ),
        (GOOD | {"id": "b", "gold": "p1"}, "line 2: gold: Input should be a valid tuple"),
        (GOOD | {"id": "b", "expect": "maybe"}, "line 2: expect: Input should be 'answer'"),
        (GOOD | {"id": "b", "expect": "abstain"}, "line 2: expect is abstain, so gold"),
        (GOOD | {"id": "b", "must_contain": [[]]}, "line 2: must_contain and must_not_contain hold no empty group"),
        (GOOD | {"id": "b", "optional": ["p1"]}, "line 2: p1 is both gold and optional"),
        (GOOD | {"id": "b", "question": "  "}, "line 2: question is blank"),
        ({"id": "b"}, "line 2: question: Field required"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(line: dict[str, object] | str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        cases.parse(lines(GOOD, line), "set.jsonl")
    assert said in caught.value.message
    assert "set.jsonl" in caught.value.message


def test_every_wrong_line_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        cases.parse(lines(*[{"id": str(n)} for n in range(30)]), "set.jsonl")
    assert "line 1: " in caught.value.message and "line 20: " in caught.value.message
    assert "and 10 more" in caught.value.message


def test_an_empty_or_missing_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no question"):
        cases.parse(["", "  "], "set.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        cases.read(tmp_path / "absent.jsonl")


def test_questions_about_one_paper_share_a_cluster() -> None:
    one, two, none = cases.parse(
        lines(GOOD, GOOD | {"id": "a2", "lang": "zh"}, {"id": "a3", "question": "Who won?"}), "set"
    )
    assert one.cluster == two.cluster != none.cluster


def test_the_digest_names_the_questions_and_not_the_file() -> None:
    first, second = cases.parse(lines(GOOD), "a"), cases.parse(lines("", GOOD), "b")
    assert cases.digest(first) == cases.digest(second)
    assert cases.digest(first) != cases.digest(cases.parse(lines(GOOD | {"note": "x"}), "c"))
