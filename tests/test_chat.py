"""The chat model against a real server that misbehaves."""

import asyncio
import re
import time
from contextlib import aclosing
from typing import Any

import pytest

from rag.errors import UpstreamError, UpstreamTimeout
from rag.models import breaker, chat
from rag.models.chat import ChatModel, Finished, Message, Piece
from rag.models.failures import retry_after
from rag.settings import Settings
from tests.fakes import FakeServer, Mode, Reply

KEY = "sk-very-secret"
ASK = [Message("system", "Be brief."), Message("user", "Hello?")]
FAST = {"chat_first_token_seconds": 2.0, "chat_idle_seconds": 0.4, "chat_total_seconds": 3.0}


def model(server: FakeServer, **given: Any) -> ChatModel:
    settings = Settings(openai_base_url=server.base_url, openai_api_key=KEY, chat_model="tiny", **(FAST | given))
    built = chat.build(settings)
    assert built is not None
    return built


def said(asked: ChatModel, **given: Any) -> tuple[str, Finished]:
    async def main() -> tuple[str, Finished]:
        try:
            return await asked.say(ASK, **given)
        finally:
            await asked.aclose()

    return asyncio.run(main())


def failure(asked: ChatModel) -> tuple[str, UpstreamError]:
    """What was said before it failed, and the failure."""
    pieces: list[str] = []

    async def main() -> None:
        async with aclosing(asked.stream(ASK)) as parts:
            async for part in parts:
                assert isinstance(part, Piece), "a failed answer is never finished"
                pieces.append(part.text)

    with pytest.raises(UpstreamError) as caught:
        asyncio.run(main())
    assert KEY not in str(caught.value) and "secret upstream words" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value) and caught.value.__cause__ is None
    return "".join(pieces), caught.value


def test_there_is_no_model_without_a_key_or_an_address() -> None:
    assert chat.build(Settings()) is None
    assert chat.build(Settings(openai_api_key=KEY)) is not None


def test_an_answer_is_streamed_with_the_servers_counts() -> None:
    with FakeServer("Hello there, dear reader.") as server:
        words, end = said(model(server))
    assert words == "Hello there, dear reader."
    assert end == Finished(reason="stop", prompt_tokens=11, completion_tokens=4)
    sent = server.history[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["messages"] == [{"role": m.role, "content": m.content} for m in ASK]
    assert sent.body["max_tokens"] == 800 and sent.body["stream_options"] == {"include_usage": True}


def test_tokens_are_counted_by_us_where_the_server_does_not() -> None:
    with FakeServer(Reply("one two three", usage=False)) as server:
        _, end = said(model(server))
    assert end.estimated and end.completion_tokens == 3 and end.prompt_tokens > 8


def test_an_answer_cut_by_the_token_limit_says_so() -> None:
    with FakeServer(Reply("one two", finish="length")) as server:
        assert said(model(server))[1].reason == "length"


def test_words_come_as_they_are_said() -> None:
    with FakeServer(Reply("a b c d e f", tokens_per_second=20)) as server:

        async def main() -> list[float]:
            return [time.monotonic() async for part in model(server).stream(ASK) if isinstance(part, Piece)]

        moments = asyncio.run(main())
    assert len(moments) == 6 and moments[-1] - moments[0] > 0.2


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_passing_failure_is_called_again(status: int) -> None:
    with FakeServer(Reply(status=status), "All is well.") as server:
        assert said(model(server))[0] == "All is well."
        assert server.opened == 2


@pytest.mark.parametrize("mode", ["reset_first", "reset", "error_event", "cut"])
def test_a_break_before_the_first_word_is_called_again(mode: Mode) -> None:
    broken = Reply("", mode=mode, pieces=())
    with FakeServer(broken, "All is well.") as server:
        assert said(model(server))[0] == "All is well."
        assert server.opened == 2


def test_at_most_three_calls_are_made() -> None:
    with FakeServer(default=Reply(status=500)) as server:
        words, error = failure(model(server))
        assert server.opened == 3 and words == "" and "status 500" in error.message
        failure(model(server, chat_max_calls=1))
        assert server.opened == 4


def test_calls_are_shared_between_the_steps_of_a_question() -> None:
    with FakeServer(Reply(status=500), "Rewritten.", Reply(status=500)) as server:
        asked = model(server)
        calls = asked.calls()
        assert said(asked, calls=calls)[0] == "Rewritten." and calls.left == 1
        with pytest.raises(UpstreamError):
            said(asked, calls=calls)
        with pytest.raises(UpstreamError, match="CONFAB_CHAT_MAX_CALLS"):
            said(asked, calls=calls)
        assert server.opened == 3


def test_retry_after_is_waited_for_where_time_allows() -> None:
    with FakeServer(Reply(status=429, headers={"retry-after": "1"}), "All is well.") as server:
        start = time.monotonic()
        assert said(model(server))[0] == "All is well."
        assert time.monotonic() - start >= 1


def test_a_retry_after_beyond_the_deadline_ends_at_once_and_is_passed_on() -> None:
    with FakeServer(Reply(status=429, headers={"retry-after": "60"})) as server:
        start = time.monotonic()
        _, error = failure(model(server))
    assert time.monotonic() - start < 1 and error.retry_after == 60 and server.opened == 1


def test_retry_after_is_read_in_all_its_forms() -> None:
    assert retry_after({"Retry-After": "7"}) == 7
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, now=1792567680 - 5) == 5
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({"Retry-After": "-1"}) is None and retry_after({"Retry-After": "nan"}) is None
    assert retry_after({}) is None


@pytest.mark.parametrize(("status", "advice"), [(401, "OPENAI_API_KEY"), (404, "CONFAB_CHAT_MODEL"), (400, "400")])
def test_a_refusal_is_not_called_again_and_says_what_to_check(status: int, advice: str) -> None:
    with FakeServer(default=Reply(status=status)) as server:
        _, error = failure(model(server))
        assert server.opened == 1 and advice in error.message and "'tiny'" in error.message


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("html", "web page"),
        ("garbage", "not the OpenAI protocol"),
        ("cut_utf8", "not the OpenAI protocol"),
        ("no_choices", "cut short"),
        ("wrong_shape", "not the OpenAI protocol"),
        ("no_finish", "cut short"),
        ("cut", "reached|broke off"),
        ("reset", "reached|broke off"),
        ("error_event", "reported an error"),
    ],
)
def test_a_broken_answer_is_an_error_and_what_was_said_is_not_said_twice(mode: Mode, message: str) -> None:
    with FakeServer(default=Reply("one two three four", mode=mode)) as server:
        start = time.monotonic()
        words, error = failure(model(server))
        assert time.monotonic() - start < 3
    assert server.opened == (3 if mode == "no_choices" else 1)  # nothing at all was said: as good as a break
    assert re.search(message, error.message), error.message
    assert words in ("", "one two", "one two three four")


@pytest.mark.parametrize("mode", ["half_open", "silent", "drip"])
def test_silence_before_the_first_token_ends_at_its_deadline(mode: Mode) -> None:
    with FakeServer(Reply(mode=mode)) as server:
        start = time.monotonic()
        _, error = failure(model(server, chat_first_token_seconds=0.4))
        assert 0.3 < time.monotonic() - start < 2
        assert isinstance(error, UpstreamTimeout) and "CONFAB_CHAT_FIRST_TOKEN_SECONDS" in error.message
        assert server.opened == 1 and server.wait(lambda: server.hung_up == 1)


@pytest.mark.parametrize("mode", ["stall", "stall_drip"])
def test_silence_in_mid_answer_ends_at_its_deadline_comments_or_not(mode: Mode) -> None:
    with FakeServer(Reply("one two three four", mode=mode)) as server:
        words, error = failure(model(server))
        assert words == "one two" and "CONFAB_CHAT_IDLE_SECONDS" in error.message
        assert server.wait(lambda: server.hung_up == 1)


def test_an_endless_answer_ends_at_the_total_deadline() -> None:
    with FakeServer(Reply("word " * 500, tokens_per_second=50)) as server:
        words, error = failure(model(server, chat_total_seconds=0.6))
        assert words.startswith("word word") and "CONFAB_CHAT_TOTAL_SECONDS" in error.message
        assert isinstance(error, UpstreamTimeout)


def test_a_reader_who_leaves_ends_the_upstream_call() -> None:
    with FakeServer(Reply("word " * 500, tokens_per_second=50)) as server:

        async def main() -> None:
            async with aclosing(model(server).stream(ASK)) as parts:
                async for _ in parts:
                    break
            assert await asyncio.to_thread(server.wait, lambda: server.hung_up == 1)

        asyncio.run(main())


@pytest.mark.parametrize("reply", [Reply("word " * 500, tokens_per_second=50), Reply(mode="half_open")])
def test_a_cancelled_task_ends_the_upstream_call(reply: Reply) -> None:
    with FakeServer(reply) as server:

        async def main() -> None:
            task = asyncio.create_task(model(server).say(ASK))
            assert await asyncio.to_thread(server.wait, lambda: server.opened == 1)
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.wait, lambda: server.hung_up == 1)

        asyncio.run(main())


def test_parameters_that_a_server_refuses_are_left_out_from_then_on() -> None:
    with FakeServer(default="Hello.") as server:
        server.rejects = {"stream_options", "max_tokens"}
        asked = model(server)
        assert said(asked)[0] == "Hello." and server.opened == 3
        assert said(asked)[0] == "Hello." and server.opened == 4
        sent = server.history[-1].body
        assert sent["max_completion_tokens"] == 800 and "stream_options" not in sent and sent["temperature"] == 0


def test_a_server_that_fails_again_and_again_is_left_alone_for_a_while() -> None:
    with FakeServer(default=Reply(status=401)) as server:
        asked = model(server)
        for _ in range(breaker.FAILURES):
            failure(asked)
        assert server.opened == breaker.FAILURES
        _, error = failure(asked)
        assert server.opened == breaker.FAILURES and error.retry_after and "rests" in error.message


def test_the_breaker_lets_one_try_after_its_pause_and_closes_on_success() -> None:
    now = [0.0]
    guarded = breaker.Breaker("It", failures=2, pause=10, clock=lambda: now[0])

    def run(error: type[Exception] | None) -> str:
        try:
            with guarded.guard():
                if error:
                    raise error("no")
        except Exception as caught:
            return str(caught)
        return "well"

    assert [run(UpstreamError), run(breaker.RefusedRequest), run(UpstreamError)] == ["no"] * 3
    assert "rests" in run(None)
    now[0] = 11
    assert run(UpstreamError) == "no" and "rests" in run(None)
    now[0] = 22
    assert run(None) == "well" and run(None) == "well"


def test_a_reader_who_leaves_is_no_failure_of_the_server() -> None:
    guarded = breaker.Breaker("It", failures=1)
    with pytest.raises(GeneratorExit), guarded.guard():
        raise GeneratorExit
    with guarded.guard():
        pass


def test_a_model_serves_one_event_loop_after_another() -> None:
    with FakeServer(default="Hello.") as server:
        asked = model(server)
        for _ in range(2):
            assert asyncio.run(asked.say(ASK))[0] == "Hello."


def test_cost_is_by_the_price_table() -> None:
    prices = {"tiny": (0.5, 2.0)}
    assert chat.cost(prices, "tiny", 1_000_000, 500_000) == 1.5
    assert chat.cost(prices, "other", 1, 1) is None
