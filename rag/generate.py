"""The answerer with a model: prompt -> streamed words -> sentences that `rag.citations` lets through."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from rag import prompts
from rag.citations import Checked, Checker
from rag.citations.checker import LONGEST
from rag.models.chat import Calls, ChatModel, Finished, Message, cost
from rag.settings import Settings
from rag.text import count_tokens, language
from rag.types import Cited, Frozen, Hit, Question, Said, Usage

WHOLE = "stop"


class Outcome(Frozen):
    """The end of a model's answer: what it cost, what was dropped and why, and what it lacks."""

    usage: Usage
    drop_reasons: dict[str, int]
    degraded: tuple[str, ...] = ()


async def condense(model: ChatModel, question: Question, calls: Calls, settings: Settings) -> tuple[str, Usage]:
    """A follow-up as a question of its own, by the model. Raises UpstreamError."""
    words, finished = await model.say(_messages(prompts.condense(question.history, question.text)), calls=calls)
    asked = " ".join(words.split())[: settings.max_question_chars]
    return asked or question.text, _usage(finished, settings)


async def stream(
    model: ChatModel, question: Question, asked: str, hits: Sequence[Hit], settings: Settings, calls: Calls
) -> AsyncGenerator[Said | Cited | Outcome, None]:
    """Checked sentences as the model ends them, then one Outcome. Raises UpstreamError, also in mid-answer."""
    sources = prompts.fit(prompts.sources(hits), settings.prompt_tokens, count_tokens)
    fence = secrets.token_hex(8)  # no text in a source can know it, and so none can close its fence
    said = prompts.answer(question.text, question.history, sources, fence, language(question.text))
    # the reader's own words alone: a rewritten question is the model's, and would let it vouch for itself
    own = [turn.content for turn in question.history if turn.role == "user"]
    checker = Checker(sources, "\n".join((*own, question.text)), refusal=prompts.REFUSAL)
    finished: Finished | None = None
    heard = 0
    async with aclosing(model.stream(_messages(said), calls=calls)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Finished):
                finished = piece
                break
            for event in _events(checker.feed(piece.text)):
                yield event
            heard += len(piece.text)
            if heard > LONGEST:  # what the checker would not read need not be said
                break
    whole = finished is not None and finished.reason == WHOLE
    for event in _events(checker.finish(whole=whole)):
        yield event
    yield Outcome(
        usage=_usage(finished, settings),
        drop_reasons=checker.drop_reasons,
        degraded=() if whole else ("the model's answer was cut short; only its whole sentences are shown",),
    )


def _messages(said: prompts.Said) -> list[Message]:
    return [Message(role, content) for role, content in said]


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
