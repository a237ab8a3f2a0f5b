"""Probes: is the process alive, and can it answer."""

from fastapi import APIRouter
from starlette.responses import JSONResponse

from api import problems
from api.serving import Serving


def router(serving: Serving) -> APIRouter:
    routes = APIRouter(prefix="/healthz", tags=["health"])

    @routes.get("/live", summary="Is the process alive")
    async def live() -> dict[str, bool]:
        return {"alive": True}

    @routes.get("/ready", summary="Can it answer, and if not, why and what to do")
    async def ready() -> JSONResponse:
        """200 while there is an index to answer from, else 503; `reasons` may hold warnings in both cases."""
        told = [problems.document(serving.problem, "")] if serving.problem is not None else []
        reasons = [reason.model_dump(include={"type", "title", "detail"}) for reason in told]
        body = {"ready": serving.ready, "generation": serving.generation, "reasons": reasons}
        return JSONResponse(body, 200 if serving.ready else 503, {"Cache-Control": "no-store"})

    return routes
