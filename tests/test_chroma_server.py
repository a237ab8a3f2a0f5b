"""CONFAB_CHROMA_URL: the whole house with its vectors on a real Chroma server."""

from pathlib import Path

import chromadb
import pytest

from ingest.job import ingest
from rag.engine import open_engine
from rag.errors import Corrupt, UpstreamError
from rag.settings import Settings
from rag.store import Store
from rag.types import Question
from tests.corpus import ROWS, write
from tests.test_dense import chroma_server

ASKED = Question(text="The counter finds nine of ten birds in the far north")


def collections(settings: Settings) -> set[str]:
    assert settings.chroma_url is not None
    client = chromadb.HttpClient("127.0.0.1", int(settings.chroma_url.rsplit(":", 1)[1]))
    return {collection.name for collection in client.list_collections()}


def test_an_index_on_a_server_is_made_served_verified_and_purged(empty: Settings, tmp_path: Path) -> None:
    with chroma_server(tmp_path / "server") as server:
        settings = empty.model_copy(update={"chroma_url": server.chroma_url})
        store = Store(settings)
        ingest([write(tmp_path / "list.jsonl")], settings)
        old = open_engine(settings)
        ingest([write(tmp_path / "list.jsonl", ROWS[:2])], settings, sync=True)
        new = open_engine(settings)
        assert collections(settings) == {"confab-gen-000001", "confab-gen-000002"}
        assert (len(list(old.papers())), len(list(new.papers()))) == (4, 2)
        assert old.hits(ASKED)[0].paper.id == new.hits(ASKED)[0].paper.id == "birds"
        assert not list(settings.data_dir.rglob("chroma*"))
        assert store.verify_all("gen-000002") == []
        assert store.rollback() == "gen-000001"
        assert store.purge() == ["gen-000002"]
        assert collections(settings) == {"confab-gen-000001"}

        with pytest.raises(Corrupt, match="no collection"):  # the index of a server is on that server alone
            open_engine(empty)
    with pytest.raises(UpstreamError, match="Chroma server"):
        old.hits(ASKED)
    with pytest.raises(UpstreamError, match="Chroma server"):
        open_engine(settings)
