"""The body of a chat request, and how it adapts to servers that refuse some of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

LIMITS = ("max_completion_tokens", "max_tokens")  # OpenAI's newer models refuse the second, others know only that


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


def body(
    model: str, messages: Sequence[Message], max_tokens: int, refused: Collection[str], *, openai: bool
) -> dict[str, Any]:
    """Keyword arguments of `chat.completions.create`, without the optional parameters in `refused`."""
    limits = [name for name in (LIMITS if openai else reversed(LIMITS)) if name not in refused]
    optional: dict[str, Any] = {"stream_options": {"include_usage": True}, "temperature": 0}
    optional |= {limits[0]: max_tokens} if limits else {}
    required = {"model": model, "messages": [{"role": m.role, "content": m.content} for m in messages], "stream": True}
    return required | {name: value for name, value in optional.items() if name not in refused}


def refused_by(said: str, sent: dict[str, Any]) -> set[str]:
    """The optional parameters of `sent` that a status 400 names ("Unsupported parameter: 'max_tokens' ...").

    Quoted names count before bare ones, since advice ("use max_completion_tokens instead") names others.
    """
    optional = sent.keys() - {"model", "messages", "stream"}
    quoted = {name for name in optional if f"'{name}'" in said.replace('"', "'").replace("`", "'")}
    return quoted or {name for name in optional if name in said}
