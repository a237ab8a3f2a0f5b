"""`GET /search` and `GET /papers/{id}`: the papers themselves."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from api import problems, wire
from api.chat import unless_gone
from api.serving import Serving
from rag.settings import Settings
from rag.types import Paper, SearchResult


def router(serving: Serving, settings: Settings) -> APIRouter:
    routes = APIRouter()

    @routes.get("/search", response_model=SearchResult, summary="Find papers")
    async def search(asked: Annotated[wire.SearchRequest, Query()], request: Request) -> Response:
        """Papers ranked for `q`, each with the sentence that matches best."""
        if len(asked.q) > settings.max_question_chars:
            raise problems.Refused(problems.too_long(settings.max_question_chars, parameter="q"))
        engine = await serving.engine()
        found = await unless_gone(request.receive, engine.search(asked.q, k=asked.k, filter=asked.filter))
        return Response(found.model_dump_json(), media_type="application/json")

    @routes.get("/papers/{paper_id:path}", response_model=Paper, summary="One paper, its abstract verbatim")
    async def paper(paper_id: str) -> Response:
        """An id may hold slashes; other odd characters are percent-encoded."""
        if "\0" in paper_id:
            raise problems.NoSuchAddress("No paper has an id with the character U+0000")
        engine = await serving.engine()
        found = await run_in_threadpool(engine.paper, paper_id)
        return Response(found.model_dump_json(), media_type="application/json")

    return routes
