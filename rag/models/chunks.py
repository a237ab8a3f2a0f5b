"""What stands in a chunk of a chat stream, read with suspicion: servers differ, and the SDK checks no shape."""

import asyncio
from contextlib import suppress
from typing import Any

from rag.errors import UpstreamError
from rag.models.failures import Failed

USAGE_SECONDS = 2.0  # longest wait for the token counts, once the answer is whole


async def following(answer: Any) -> Any | None:
    return await anext(answer, None)


def read(chunk: Any, who: str) -> tuple[str, bool, str | None]:
    """(words, whether it thought, finish_reason) of a chunk; a chunk with no choices says nothing."""
    choices = getattr(chunk, "choices", None)
    if choices is None:
        raise Failed(UpstreamError(f"{who} sent what is not the OpenAI protocol (no choices)"))
    if not choices:
        return "", False, None
    delta, reason = getattr(choices[0], "delta", None), getattr(choices[0], "finish_reason", None)
    words = getattr(delta, "content", None)
    thought = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
    return words if isinstance(words, str) else "", bool(thought), str(reason) if reason else None


def usage(chunk: Any) -> tuple[int, int] | None:
    counts = getattr(chunk, "usage", None)
    prompt, completion = getattr(counts, "prompt_tokens", None), getattr(counts, "completion_tokens", None)
    return (prompt, completion) if isinstance(prompt, int) and isinstance(completion, int) else None


async def late_usage(answer: Any) -> tuple[int, int] | None:
    """Counts from the chunk after the last word, if it comes soon; the answer is whole without it."""
    with suppress(Exception):
        async with asyncio.timeout(USAGE_SECONDS):
            async for chunk in answer:
                if counts := usage(chunk):
                    return counts
    return None
