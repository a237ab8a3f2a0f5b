"""What the openai SDK may raise -> one clean UpstreamError, and whether calling again helps.

A message never holds the key, the address or the upstream's own words: only its status and our advice.
"""

import email.utils
import time
from collections.abc import Mapping

from rag.errors import UpstreamError, UpstreamTimeout
from rag.models.breaker import RefusedRequest

AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
ADVICE = {
    401: "check OPENAI_API_KEY",
    403: "check what OPENAI_API_KEY may do",
    404: "check CONFAB_CHAT_MODEL and OPENAI_BASE_URL (it usually ends in /v1)",
    413: "lower CONFAB_PROMPT_TOKENS",
    429: "its limit is reached; try again later",
}


class Failed(Exception):
    """A call failed with `error`. `again`: another may help; `wait`: seconds the server asked for; `said`: its
    words on a refused request, for the adapter's eyes only."""

    def __init__(self, error: UpstreamError, *, again: bool = False, wait: float | None = None, said: str = "") -> None:
        super().__init__(error.message)
        self.error, self.again, self.wait, self.said = error, again, wait, said


def explain(error: Exception, who: str) -> Failed:
    """`who` names the model in the message ("The chat model 'x'")."""
    import openai  # here, because it takes half a second

    if isinstance(error, openai.APIStatusError):
        return _status(error.status_code, dict(error.response.headers), str(error.body), who)
    if isinstance(error, openai.APITimeoutError):
        return Failed(UpstreamTimeout(f"{who} did not answer in time"))
    if isinstance(error, openai.APIConnectionError):
        return Failed(UpstreamError(f"{who} cannot be reached; check OPENAI_BASE_URL and that it runs"), again=True)
    if isinstance(error, ValueError | openai.APIResponseValidationError):  # JSON and UTF-8 errors are ValueErrors
        return Failed(UpstreamError(f"{who} sent what is not the OpenAI protocol ({type(error).__name__})"))
    if isinstance(error, openai.APIError):
        return Failed(UpstreamError(f"{who} reported an error in mid-answer"), again=True)
    return Failed(UpstreamError(f"{who} broke off the connection ({type(error).__name__})"), again=True)


def _status(status: int, headers: Mapping[str, str], body: str, who: str) -> Failed:
    wait = retry_after(headers)
    advice = ADVICE.get(status)
    message = f"{who} answered status {status}" + (f"; {advice}" if advice else "")
    if status in AGAIN:
        return Failed(UpstreamError(message, retry_after=wait), again=True, wait=wait)
    if status in (400, 413, 422):
        return Failed(RefusedRequest(message), said=body)
    return Failed(UpstreamError(message))


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds of `retry-after-ms` or `Retry-After` (a number or an HTTP date), or None. Never negative."""
    lower = {name.lower(): value for name, value in headers.items()}
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(lower.get(name, "")) * scale
        except ValueError:
            continue
        return seconds if 0 <= seconds < 1e6 else None
    try:
        date = email.utils.parsedate_to_datetime(lower.get("retry-after", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))
