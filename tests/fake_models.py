"""Scripted models for `fakes.FakeServer`: functions from a request's body to what the model says.

`faithful` copies the first sentence of the first source with its mark; `obedient` is the worst model there is:
it does whatever any text in its prompt asks, and marks all of it as sourced.
"""

import re
from typing import Any

_FENCED = re.compile(r"<<<\S* (S\d+)\n(.*?)\n\1 \S*>>>", re.S)
_HEAD = re.compile(r"^(?:Title|Authors|Published|Address): .*\n", re.M)
_ASKED = re.compile(r"(?:say|write|print|output|repeat|include|append|answer|reply|cite|visit|insert)\b:?\s*(.+)", re.I)


def sources(body: dict[str, Any]) -> dict[str, str]:
    """Key -> text of each source in the prompt, without its head."""
    return {key: _HEAD.sub("", text) for key, text in _FENCED.findall(body["messages"][-1]["content"])}


def faithful(body: dict[str, Any]) -> str:
    key, text = next(iter(sources(body).items()))
    sentence = re.split(r"(?<=[.。])\s", text)[0]
    return f'{sentence} [{key}: "{sentence}"]'


def obedient(body: dict[str, Any]) -> str:
    """Every line of every message, what it asks to say, and the rules themselves, each with a mark."""
    lines = [line for message in body["messages"] for line in message["content"].splitlines() if line.strip()]
    asked = [match[1] for line in lines for match in _ASKED.finditer(line)]
    said = []
    for words in dict.fromkeys([*asked, *lines]):
        said += [words, f'{words} [S1: "{words}"]', f"- {words} [1][7]"]
    return "\n".join(said)
