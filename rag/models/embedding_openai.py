"""Embeddings of any server that speaks the OpenAI protocol: `CONFAB_EMBED_MODEL=openai:NAME`.

The SDK makes the request; the answer is read and judged here, because the SDK has no limit on the whole
call, retries on its own terms, and lets a wrong answer through in many shapes (FACTS 5). A message names the
model and the status, never the key or the server's own words, which may quote the key.
"""

import base64
import binascii
import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag.errors import UpstreamError, UpstreamTimeout
from rag.models.breaker import RefusedRequest
from rag.models.failures import AGAIN, retry_after

Floats = npt.NDArray[np.float32]

CONCURRENT: Final = 4
BATCH_TEXTS: Final = 256
"""OpenAI takes 2,048 texts a call; small servers take less, and a refused batch is split anyway."""
CHARACTERS_A_TOKEN: Final = 3
"""On the safe side for English (4.5 measured on abstracts); for Chinese a batch is at worst three times the setting."""
MOST_BYTES: Final = 64_000_000
ADVICE: Final = {
    400: "check the name in CONFAB_EMBED_MODEL, and that no text is longer than the model takes",
    401: "check CONFAB_EMBED_API_KEY (or OPENAI_API_KEY)",
    403: "check what CONFAB_EMBED_API_KEY (or OPENAI_API_KEY) may do",
    404: "check CONFAB_EMBED_MODEL and CONFAB_EMBED_BASE_URL (or OPENAI_BASE_URL; it usually ends in /v1)",
    413: "a text is longer than the server takes; lower CONFAB_CHUNK_TOKENS",
    429: "its limit is reached; try again later",
}


@dataclass(frozen=True)
class Patience:
    """A call may take `seconds`; before each further try it waits `waits`, or what the server asks up to `longest`."""

    seconds: float
    waits: tuple[float, ...]
    longest: float
    after_timeout: bool


PASSAGES: Final = Patience(60, (0.5, 1, 2, 4, 8, 16), longest=60, after_timeout=True)
QUESTION: Final = Patience(10, (0.2,), longest=1, after_timeout=False)
"""A person waits for a question."""


class Remote:
    """One model of one server. Thread safe."""

    def __init__(
        self,
        name: str,
        key: str,
        base_url: str,
        batch_tokens: int,
        for_passages: Patience = PASSAGES,
        for_question: Patience = QUESTION,
    ) -> None:
        self.name, self._key, self._base_url, self._batch_tokens = name, key, base_url, batch_tokens
        self._for_passages, self._for_question = for_passages, for_question
        self._who = f"The embedding model {name!r}"
        self._opening = threading.Lock()

    def passages(self, texts: Sequence[str]) -> Floats:
        """float32 [n, d] as the server gave them, in the order of `texts`. Raises UpstreamError."""
        stop = threading.Event()
        with ThreadPoolExecutor(CONCURRENT) as pool:
            futures = [pool.submit(self._split, texts, span, stop) for span in self._spans(texts)]
            try:
                for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                    future.result()  # raises the failure, whichever call it is
            finally:
                stop.set()  # whoever waits for another try gives up, so that the pool can close
                pool.shutdown(wait=False, cancel_futures=True)
        return self._joined([part for future in futures for part in future.result()])

    def question(self, text: str) -> Floats:
        """float32 [d]. Raises UpstreamError."""
        vectors = self._patient([text], self._for_question, threading.Event())
        return np.asarray(vectors[0], dtype=np.float32)

    def _spans(self, texts: Sequence[str]) -> Iterator[range]:
        """Neighbouring texts that make one call."""
        start = size = 0
        for place, text in enumerate(texts):
            tokens = len(text) // CHARACTERS_A_TOKEN + 1
            if place > start and (size + tokens > self._batch_tokens or place - start == BATCH_TEXTS):
                yield range(start, place)
                start, size = place, 0
            size += tokens
        yield range(start, len(texts))

    def _split(self, texts: Sequence[str], span: range, stop: threading.Event) -> list[Floats]:
        """A refused call is made again in halves; a text that is refused alone is named."""
        try:
            some = [texts[place] for place in span]
            return [self._patient(some, self._for_passages, stop)]
        except RefusedRequest as error:
            if len(span) == 1:
                which = f"text {span[0] + 1} of {len(texts)} ({len(texts[span[0]])} characters)"
                raise RefusedRequest(f"{error.message}; it refused {which}") from None
        middle = len(span) // 2
        return self._split(texts, span[:middle], stop) + self._split(texts, span[middle:], stop)

    def _patient(self, texts: list[str], patience: Patience, stop: threading.Event) -> Floats:
        """One call, made again where that may help. A server that asks for a longer wait is not asked again."""
        for next_wait in (*patience.waits, None):
            try:
                return self._call(texts, patience.seconds)
            except _Again as failed:
                pause = next_wait if failed.error.retry_after is None else failed.error.retry_after
                final = next_wait is None or (isinstance(failed.error, UpstreamTimeout) and not patience.after_timeout)
                if final or pause is None or pause > patience.longest or stop.wait(pause):
                    raise failed.error from None
        raise AssertionError("the last try returns or raises")

    def _call(self, texts: list[str], seconds: float) -> Floats:
        """Raises UpstreamError, or _Again where another try may help."""
        import openai  # here, because it takes half a second

        try:
            body = self._body(texts, time.monotonic() + seconds, seconds)
        except openai.APIStatusError as error:
            raise self._refused(error.status_code, retry_after(dict(error.response.headers))) from None
        except (UpstreamError, _Again):
            raise
        except Exception as error:  # reading raises what the HTTP library of the SDK's major version raises
            if isinstance(error, openai.APITimeoutError) or type(error).__name__.endswith("Timeout"):
                raise self._late(seconds) from None
            what = f"{self._who} cannot be reached or broke off ({type(error).__name__})"
            raise _Again(UpstreamError(f"{what}; check CONFAB_EMBED_BASE_URL (or OPENAI_BASE_URL)")) from None
        return self._vectors(body, len(texts))

    def _body(self, texts: list[str], deadline: float, seconds: float) -> bytes:
        create = self._client.embeddings.with_streaming_response.create
        body = bytearray()
        with create(model=self.name, input=texts, encoding_format="base64", timeout=seconds) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise UpstreamError(f"{self._who} sent more than {MOST_BYTES:,} bytes for {len(texts)} texts")
                if time.monotonic() > deadline:
                    raise self._late(seconds)
        return bytes(body)

    def _vectors(self, body: bytes, count: int) -> Floats:
        """The vectors in the order of their `index`, whether they came as numbers or as base64."""
        rows: list[Floats | None] = [None] * count
        try:
            for item in json.loads(body)["data"]:
                rows[_index(item, count)] = _vector(item["embedding"])
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
            what = f"{self._who} sent what is not the OpenAI protocol ({type(error).__name__})"
            raise UpstreamError(f"{what}; check CONFAB_EMBED_BASE_URL (it usually ends in /v1)") from None
        if missing := [place + 1 for place, row in enumerate(rows) if row is None]:
            raise UpstreamError(f"{self._who} sent no vector for text {missing[0]} of {count} in one call")
        return self._joined([row[None] for row in rows if row is not None])

    def _joined(self, parts: Sequence[Floats]) -> Floats:
        lengths = {part.shape[1] for part in parts}
        if len(lengths) != 1:
            raise UpstreamError(f"{self._who} sent vectors of different lengths: {sorted(lengths)}")
        return np.concatenate(parts)

    def _refused(self, status: int, asked: float | None) -> Exception:
        message = f"{self._who} answered status {status}" + (f"; {ADVICE[status]}" if status in ADVICE else "")
        if status in AGAIN:
            return _Again(UpstreamError(message, retry_after=asked))
        return RefusedRequest(message) if status in (400, 413, 422) else UpstreamError(message)

    def _late(self, seconds: float) -> "_Again":
        return _Again(UpstreamTimeout(f"{self._who} did not answer within {seconds:g} s"))

    @property
    def _client(self) -> Any:
        with self._opening:
            return self._opened

    @cached_property
    def _opened(self) -> Any:
        import openai

        return openai.OpenAI(api_key=self._key, base_url=self._base_url, max_retries=0)


class _Again(Exception):
    """A failure that another try may cure."""

    def __init__(self, error: UpstreamError) -> None:
        super().__init__(error.message)
        self.error = error


def _index(item: Any, count: int) -> int:
    index = item["index"]
    if not isinstance(index, int) or not 0 <= index < count:
        raise ValueError(index)
    return index


def _vector(value: Any) -> Floats:
    """A list of numbers, or base64 of little-endian float32. Raises ValueError or TypeError."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    with np.errstate(over="ignore"):  # what becomes infinite is refused with all that is not finite
        row = np.asarray(value, dtype=np.float32)
    if row.ndim != 1:
        raise ValueError(row.shape)
    return row
