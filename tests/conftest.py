"""What many tests stand on: the sample list, ingested once by the real ingest with the real e5."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.job import ingest
from rag.engine import QueryEngine, open_engine
from rag.settings import Settings
from tests.corpus import write
from tests.hashed import MODEL

SAMPLE_LIST = Path(__file__).parent.parent / "ingest" / "lists" / "icml2026_sample.txt"


for _name in list(os.environ):  # a key or a data folder of whoever runs the tests is none of theirs
    if _name.startswith(("CONFAB_", "OPENAI_")):
        del os.environ[_name]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The sample list's index, shared: to be read only. It takes some ten seconds."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("sample"))
    report = ingest([SAMPLE_LIST], settings)
    assert report.papers == 19
    return settings


@pytest.fixture(scope="session")
def engine(sample: Settings) -> QueryEngine:
    """Over the sample list, without a model."""
    return open_engine(sample)


@pytest.fixture
def own_sample(sample: Settings, tmp_path: Path) -> Settings:
    """The sample list's index, a copy to write to. The built e5 graph is linked, as it never changes."""
    return copy(sample, tmp_path / "sample")


@pytest.fixture(scope="session")
def _small(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("small")
    settings = Settings(data_dir=folder / "data", embed_model=MODEL)
    ingest([write(folder / "papers.jsonl")], settings)
    return settings


@pytest.fixture
def small(_small: Settings, tmp_path: Path) -> Settings:
    """An index of the four papers of `tests.corpus`, made with `tests.hashed`: a copy to write to."""
    return copy(_small, tmp_path / "small")


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Settings]:
    """No index yet, and `tests.hashed` to make one with."""
    return Settings(data_dir=tmp_path / "data", embed_model=MODEL)


def copy(settings: Settings, folder: Path) -> Settings:
    shutil.copytree(settings.data_dir, folder, copy_function=_link_models)
    return settings.model_copy(update={"data_dir": folder})


def _link_models(source: str, to: str) -> None:
    if Path(source).parent.name == "models":
        os.link(source, to)
    else:
        shutil.copy2(source, to)
