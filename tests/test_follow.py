"""Two processes: one answers, the other ingests. No answer mixes two generations."""

import asyncio
import gc
import subprocess
import time
from pathlib import Path

from rag.engine import QueryEngine, open_engine
from rag.settings import Settings
from rag.store import Store
from rag.types import Answer, Question
from tests.corpus import ROWS, changed, write
from tests.servers import CONFAB, environment

ASKED = Question(text="The counter finds how many of ten birds in the far north?")
EDITED = ROWS[0]["abstract"].replace("nine of ten", "eight of ten")
ADDED = {"id": "walrus", "abstract": "We count the walrus from space. The walrus thrives in the far north."}


async def answers_until(engine: QueryEngine, enough: "asyncio.Event") -> list[Answer]:
    """What a busy service says, while it looks for a newer generation after every answer."""
    said = []
    while not enough.is_set():
        said.append(await engine.answer(ASKED))
        await engine.follow()
    return said


async def ingested(command: list[str], settings: Settings) -> None:
    environ = environment(settings.data_dir, CONFAB_EMBED_MODEL=settings.embed_model)
    process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=subprocess.DEVNULL)
    assert await process.wait() == 0


def test_a_busy_engine_finds_a_new_paper_at_once_and_every_answer_is_of_one_generation(
    small: Settings, tmp_path: Path
) -> None:
    list_ = write(tmp_path / "list.jsonl", [*changed("birds", abstract=EDITED), ADDED])
    settings = small.model_copy(update={"abstain_below": 0})
    engine = open_engine(settings)

    async def both() -> list[Answer]:
        enough = asyncio.Event()
        asking = [asyncio.create_task(answers_until(engine, enough)) for _ in range(3)]
        await ingested([*CONFAB, "ingest", str(list_)], settings)
        published = time.monotonic()
        while not (await engine.search("walrus")).hits:
            assert time.monotonic() - published < 5
            await asyncio.sleep(0.02)
        enough.set()
        said = [answer for answers in await asyncio.gather(*asking) for answer in answers]
        return [*said, await engine.answer(ASKED)]

    said = asyncio.run(both())
    assert {answer.generation for answer in said} == {"gen-000001", "gen-000002"}
    abstracts = {name: Store(settings).open(name).catalog for name in ("gen-000001", "gen-000002")}
    for answer in said:
        assert answer.answered
        papers = abstracts[answer.generation]
        assert {hit.paper.id for hit in answer.retrieved} <= set(papers.digests())
        for citation in answer.citations:
            paper = papers.paper(citation.paper.id)
            assert paper is not None
            assert paper.abstract[citation.start : citation.end] == citation.quote
        assert ("nine of ten" if answer.generation == "gen-000001" else "eight of ten") in answer.answer


def test_an_answer_under_way_ends_on_the_generation_it_began_with(small: Settings, tmp_path: Path) -> None:
    settings = small.model_copy(update={"abstain_below": 0})
    engine = open_engine(settings)
    list_ = write(tmp_path / "list.jsonl", changed("birds", abstract=EDITED))

    async def begun_before() -> tuple[Answer, Answer]:
        events = engine.stream(ASKED)
        await anext(events)
        await ingested([*CONFAB, "ingest", str(list_)], settings)
        assert await engine.follow()
        assert not await engine.follow()
        said = [event async for event in events]
        assert isinstance(said[-1], Answer)
        return said[-1], await engine.answer(ASKED)

    old, new = asyncio.run(begun_before())
    assert (old.generation, new.generation) == ("gen-000001", "gen-000002")
    assert "nine of ten" in old.answer
    assert "eight of ten" in new.answer

    asyncio.run(follow_back_and_forth(engine, Store(settings)))


def open_files(root: Path) -> int:
    """Files below `root` that this process holds open."""
    gc.collect()
    links = list(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else []
    return sum(str(root) in str(link.readlink()) for link in links if link.is_symlink())


async def follow_back_and_forth(engine: QueryEngine, store: Store) -> None:
    """Following is also following back; and what is no longer served is let go."""

    counts = []
    for _ in range(6):
        for name in ("gen-000001", "gen-000002"):
            store.switch(name)
            assert await engine.follow()
            assert (await engine.answer(ASKED)).generation == name
        counts.append(open_files(store.root))
    assert counts[-1] < counts[1] + 8, f"files of generations stay open: {counts}"  # each has ten
