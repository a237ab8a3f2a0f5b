"""The web application: one engine, the ways in, and the page, put together."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

from api import chat, health, papers, problems
from api.edge import Edge
from api.serving import Engine, Serving
from rag.errors import ConfabError
from rag.settings import Settings

STATIC = Path(__file__).parent / "static"
HEARTBEAT_SECONDS = 10.0
LAST_WORDS_SECONDS = 2.0


class Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """FastAPI's document, told that errors are problem documents (it knows only its own 422)."""
        document = super().openapi()
        document["components"]["schemas"].pop("HTTPValidationError", None)
        document["components"]["schemas"].pop("ValidationError", None)
        for operation in (one for path in document["paths"].values() for one in path.values()):
            operation["responses"].pop("422", None)
            told = operation["responses"]["default"]["content"]
            told.setdefault(problems.MEDIA_TYPE, told.pop("application/json", None))
        return document


def create_app(opener: Callable[[], Engine], settings: Settings, *, heartbeat: float = HEARTBEAT_SECONDS) -> FastAPI:
    """The application. `opener` is called in a thread until it gives an engine, which the application then closes."""
    serving = Serving(opener)
    under_way: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        running = asyncio.create_task(serving.run())
        yield
        if under_way:  # cancelled by the server a moment ago: their last words are still being said
            await asyncio.wait(set(under_way), timeout=LAST_WORDS_SECONDS)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await serving.aclose()

    app = Application(
        title="Confab",
        version=version("confab"),
        description="Cited answers to questions about conference papers.",
        docs_url=None,  # both load their scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        responses={"default": {"model": problems.Problem, "description": "A problem document (RFC 9457)"}},
        exception_handlers={
            ConfabError: problems.on_confab_error,
            RequestValidationError: problems.on_invalid,
            HTTPException: problems.on_http_error,
        },
    )
    app.add_middleware(Edge, settings=settings, under_way=under_way)
    app.include_router(chat.router(serving, settings, heartbeat))
    app.include_router(papers.router(serving, settings))
    app.include_router(health.router(serving))
    _add_page(app)
    return app


def _add_page(app: FastAPI) -> None:
    """The page at `/` and its parts under `/static`."""

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
