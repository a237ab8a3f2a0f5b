"""`confab doctor`: what is configured, what works, what to do. Exit code 1 where something does not work."""

import argparse
import asyncio
import json
import os
from collections.abc import Iterator

from rag.errors import ConfabError
from rag.settings import Settings
from rag.types import Frozen


class Check(Frozen):
    name: str
    ok: bool
    detail: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace, settings: Settings) -> int:
    checks = list(examine(settings))
    if args.json:
        print(json.dumps([check.model_dump() for check in checks], indent=2, ensure_ascii=False))
    else:
        for check in checks:
            print(f"{'ok ' if check.ok else 'ILL'}  {check.name}: {check.detail}")
    return 0 if all(check.ok for check in checks) else 1


def examine(settings: Settings) -> Iterator[Check]:
    yield _data_dir(settings)
    yield _tokens()
    yield _embedding(settings)
    yield _index(settings)
    yield _answering(settings)


def _data_dir(settings: Settings) -> Check:
    folder = settings.data_dir
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not os.access(there, os.W_OK):
        return Check(
            name="data folder", ok=False, detail=f"{folder} cannot be written; set CONFAB_DATA_DIR to one that can"
        )
    return Check(name="data folder", ok=True, detail=str(folder.absolute()))


def _tokens() -> Check:
    from rag.text import count_tokens

    try:
        count_tokens("a few words")
    except Exception as error:
        return Check(
            name="token counts",
            ok=False,
            detail=f"tiktoken cannot load its files ({error}); reinstall llama-index-core",
        )
    return Check(name="token counts", ok=True, detail="tiktoken o200k_base, from files on this machine")


def _embedding(settings: Settings) -> Check:
    from rag.models import embedding

    problem = embedding.available(settings.embed_model)
    if problem:
        return Check(name="embedding model", ok=False, detail=problem)
    try:
        model = embedding.build(settings)
        model.question("a question")
    except ConfabError as error:
        return Check(name="embedding model", ok=False, detail=error.message)
    return Check(name="embedding model", ok=True, detail=f"{model.name}, {model.dimension} dimensions")


def _index(settings: Settings) -> Check:
    from rag.engine import open_engine

    try:
        status = open_engine(settings.model_copy(update={"openai_api_key": None, "openai_base_url": None})).status()
    except ConfabError as error:
        return Check(name="index", ok=False, detail=error.message)
    return Check(
        name="index", ok=True, detail=f"{status['generation']}, {status['papers']} papers, made {status['created']}"
    )


def _answering(settings: Settings) -> Check:
    from rag.models import chat

    if not settings.has_llm:
        return Check(
            name="answers", ok=True, detail="extractive (no model is set; OPENAI_API_KEY or OPENAI_BASE_URL sets one)"
        )
    try:
        model = chat.build(settings)
        asyncio.run(_one_word(model))
    except ConfabError as error:
        return Check(name="answers", ok=False, detail=f"{settings.chat_model} does not answer: {error.message}")
    return Check(name="answers", ok=True, detail=f"{settings.chat_model} answers")


async def _one_word(model: object) -> None:
    from rag.models.chat import ChatModel, Message

    if isinstance(model, ChatModel):
        try:
            async for _ in model.stream([Message(role="user", content="Say OK.")], max_tokens=5):
                pass
        finally:
            await model.aclose()
