"""Request bodies, strict JSON, and the encoding of server-sent events.

Answers have no bodies of their own here: `rag.types.Answer`, `SearchResult` and `Paper` are the bodies.
This room is the one that validates; the engine behind it trusts.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NoReturn

from fastapi.sse import format_sse_event
from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, WithJsonSchema

from rag.types import Answer, Cited, Event, Filter, Found, Frozen, Question, Said, Started, Turn

YEAR = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold the character U+0000")
    return text


def _said_something(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; write a question")
    return text


def _none_if_blank(value: object) -> object:
    """A form sends `venue=` for a field that was left empty."""
    return None if isinstance(value, str) and not value.strip() else value


def _ordered(years: tuple[int, int] | None) -> tuple[int, int] | None:
    if years is not None and years[0] > years[1]:
        raise ValueError(f"runs backwards; write the earlier year first ({years[1]}, {years[0]})")
    return years


def _pair(value: object) -> object:
    """A single year is the range of that year."""
    return (value, value) if isinstance(value, int) else value


def _year_text(value: object) -> object:
    """`2026` or `2020-2024`, as it stands in an address."""
    if not isinstance(value, str) or not value.strip():
        return None
    match = YEAR.fullmatch(value.strip())
    if match is None:
        raise ValueError("should be a year or a range of years, such as 2026 or 2020-2024")
    return int(match[1]), int(match[2] or match[1])


Text = Annotated[str, AfterValidator(_no_nul)]
Short = Annotated[Text, Field(max_length=500)]
Word = Annotated[Short | None, BeforeValidator(_none_if_blank)]
Asked = Annotated[Text, AfterValidator(_said_something)]
Year = Annotated[StrictInt, Field(ge=0, le=9999)]
Years = Annotated[
    tuple[Year, Year] | None,
    AfterValidator(_ordered),
    BeforeValidator(_pair),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 9999},
                {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                {"type": "null"},
            ],
            "description": "One year, or [from, to], both inclusive.",
        }
    ),
]
YearText = Annotated[
    Any,
    AfterValidator(_ordered),
    BeforeValidator(_year_text),
    WithJsonSchema({"type": "string", "description": "One year (2026) or a range (2020-2024), both ends inclusive."}),
]


class FilterBody(Frozen):
    """What the answer may rest on; every given part must hold."""

    venue: Word = None
    year: Years = None
    author: Word = None
    topic: Word = None
    ids: Annotated[tuple[Short, ...], Field(max_length=1000)] | None = None

    @property
    def filter(self) -> Filter:
        return Filter(venue=self.venue, year=self.year, author=self.author, topic=self.topic, ids=self.ids)


class TurnBody(Frozen):
    role: Literal["user", "assistant"]
    content: Annotated[Text, Field(max_length=50_000)]


class ChatRequest(Frozen):
    """What `POST /chat` takes. Unknown fields are refused, because a misspelt filter would be ignored otherwise."""

    question: Asked
    history: Annotated[tuple[TurnBody, ...], Field(max_length=100)] | None = None
    filters: FilterBody | None = None
    top_k: Annotated[StrictInt, Field(ge=1, le=50)] | None = None

    def asked(self, top_k: int) -> Question:
        """The engine's Question; `top_k` holds where the caller gave none."""
        turns = tuple(Turn(role=turn.role, content=turn.content) for turn in self.history or ())
        wanted = (self.filters or FilterBody()).filter
        return Question(text=self.question, history=turns, filter=wanted, top_k=self.top_k or top_k)


class SearchRequest(Frozen):
    """The query of `GET /search`."""

    q: Asked
    k: int = Field(10, ge=1, le=100)
    venue: Word = None
    year: YearText = None
    author: Word = None
    topic: Word = None

    @property
    def filter(self) -> Filter:
        return Filter(venue=self.venue, year=self.year, author=self.author, topic=self.topic)


def decode(body: bytes) -> object:
    """JSON as RFC 7493 wants it: UTF-8, no NaN, no number beyond a double, no key twice, no lone surrogate.

    Raises json.JSONDecodeError and nothing else, whatever the bytes are.
    """
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_without_doubles
        )
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # raises where an escape made half a character
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError:
        raise json.JSONDecodeError("it is not UTF-8", "", 0) from None
    except UnicodeEncodeError:
        raise json.JSONDecodeError("it holds half of a surrogate pair", "", 0) from None
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None
    except ValueError as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object has the same key twice")
    return members


def wants_events(accept: str) -> bool:
    """Whether an Accept header names `text/event-stream` (and does not weigh it 0)."""
    for part in accept.lower().split(","):
        media, *parameters = (piece.strip().replace(" ", "") for piece in part.split(";"))
        if media == "text/event-stream":
            return not any(re.fullmatch(r"q=0(\.0*)?", parameter) for parameter in parameters)
    return False


def events_of(event: Event) -> Iterator[tuple[str, str]]:
    """An engine's event as (name, JSON) pairs of the stream that the contract promises."""
    match event:
        case Started():
            yield "meta", event.model_dump_json()
        case Found():
            yield "retrieval", event.model_dump_json()
        case Said():
            yield "delta", event.model_dump_json()
        case Cited():
            yield "citation", event.citation.model_dump_json()
        case Answer():
            yield "usage", event.usage.model_dump_json()
            yield "done", event.model_dump_json()


def sse(number: int, name: str, data: str) -> bytes:
    """One server-sent event; `number` counts from 1 within its stream."""
    return format_sse_event(id=str(number), event=name, data_str=data)
