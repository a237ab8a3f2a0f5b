"""The answerer with a model: prompt -> streamed words -> checked sentences. (Being written.)"""

from collections.abc import AsyncGenerator, Sequence

from rag.errors import UpstreamError
from rag.models.chat import ChatModel
from rag.settings import Settings
from rag.types import Cited, Frozen, Hit, Question, Said, Usage


class Outcome(Frozen):
    """The end of a model's answer: what it cost and what was dropped."""

    usage: Usage
    drop_reasons: dict[str, int]


async def stream(
    model: ChatModel, question: Question, asked: str, hits: Sequence[Hit], settings: Settings
) -> AsyncGenerator[Said | Cited | Outcome, None]:
    raise UpstreamError("not yet")
    yield
