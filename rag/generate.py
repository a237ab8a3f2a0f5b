"""The answerer with a model: prompt -> streamed words -> sentences that `rag.citations` lets through."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from rag import prompts
from rag.citations import Checked, Checker
from rag.models.chat import ChatModel, Finished, Message, cost
from rag.settings import Settings
from rag.text import count_tokens, language
from rag.types import Cited, Frozen, Hit, Question, Said, Usage

WHOLE = "stop"


class Outcome(Frozen):
    """The end of a model's answer: what it cost, what was dropped and why, and what it lacks."""

    usage: Usage
    drop_reasons: dict[str, int]
    degraded: tuple[str, ...] = ()


async def stream(
    model: ChatModel, question: Question, hits: Sequence[Hit], settings: Settings
) -> AsyncGenerator[Said | Cited | Outcome, None]:
    """Checked sentences as the model ends them, then one Outcome. Raises UpstreamError, also in mid-answer."""
    sources = prompts.fit(prompts.sources(hits), settings.prompt_tokens, count_tokens)
    fence = secrets.token_hex(8)  # no text in a source can know it, and so none can close its fence
    said = prompts.answer(question.text, question.history, sources, fence, language(question.text))
    messages = [Message(role, content) for role, content in said]
    checker = Checker(sources, question.text, refusal=prompts.REFUSAL)
    finished: Finished | None = None
    async with aclosing(model.stream(messages)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Finished):
                finished = piece
                break
            for event in _events(checker.feed(piece.text)):
                yield event
    whole = finished is not None and finished.reason == WHOLE
    for event in _events(checker.finish(whole=whole)):
        yield event
    yield Outcome(
        usage=_usage(finished, settings),
        drop_reasons=checker.drop_reasons,
        degraded=() if whole else ("the model's answer was cut short; only its whole sentences are shown",),
    )


def _events(sentences: Sequence[Checked]) -> list[Said | Cited]:
    """Each sentence, then the citations that it shows first."""
    out: list[Said | Cited] = []
    for sentence in sentences:
        out.append(Said(text=sentence.text))
        out += [Cited(citation=citation) for citation in sentence.citations]
    return out


def _usage(finished: Finished | None, settings: Settings) -> Usage:
    if finished is None:
        return Usage()
    prompt, completion = finished.prompt_tokens, finished.completion_tokens
    price = cost(settings.prices, settings.chat_model, prompt, completion)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cost=price)
