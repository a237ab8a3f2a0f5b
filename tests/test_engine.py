"""The one engine: without a model, with one that is a real server of the OpenAI protocol, and inside llama-index."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from pydantic import SecretStr

from ingest.job import ingest
from rag import prompts
from rag.engine import QueryEngine, open_engine
from rag.errors import NoIndex, NotFound, UpstreamError
from rag.settings import Settings
from rag.types import Answer, Cited, Event, Filter, Found, Question, Said, Started, Turn
from tests.fake_models import faithful, sources
from tests.fakes import FakeServer, Reply

COFT = "How much does COFT reduce standard bias metrics?"
FOOTBALL = "Who won the 2022 football world cup?"


def ask(engine: QueryEngine, text: str, **more: Any) -> Answer:
    return asyncio.run(engine.answer(Question(text=text, **more)))


def told(engine: QueryEngine, text: str, **more: Any) -> list[Event]:
    async def drain() -> list[Event]:
        return [event async for event in engine.stream(Question(text=text, **more))]

    return asyncio.run(drain())


def check(engine: QueryEngine, answer: Answer) -> None:
    """What holds of any answer."""
    for number, citation in enumerate(answer.citations, 1):
        assert citation.number == number
        assert f"[{number}]" in answer.answer
        assert engine.paper(citation.paper.id).abstract[citation.start : citation.end] == citation.quote
    assert {c.paper.id for c in answer.citations} <= {hit.paper.id for hit in answer.retrieved}
    assert answer.answered == bool(answer.citations)
    assert not (answer.answered and answer.nearest)


# without a model


def test_an_answer_is_sentences_of_papers_with_their_places(engine: QueryEngine) -> None:
    answer = ask(engine, COFT)
    check(engine, answer)
    assert answer.answered
    assert "38" in answer.answer
    assert (answer.mode, answer.model, answer.degraded) == ("extractive", "extractive", ())
    assert answer.answer == " ".join(f"{c.quote} [{c.number}]" for c in answer.citations)
    assert answer.usage.prompt_tokens == 0
    assert 0 < answer.timings_ms.retrieve <= answer.timings_ms.total


def test_a_chinese_question_finds_the_english_abstract(engine: QueryEngine) -> None:
    answer = ask(engine, "COFT 把标准偏见指标降低了多少？")
    check(engine, answer)
    assert answer.citations[0].paper.id == ask(engine, COFT).citations[0].paper.id


@pytest.mark.parametrize(("question", "tag"), [(FOOTBALL, "en"), ("2022年世界杯足球赛谁赢了？", "zh")])
def test_what_the_papers_do_not_tell_is_declined_in_the_language_of_the_question(
    engine: QueryEngine, question: str, tag: str
) -> None:
    answer = ask(engine, question)
    check(engine, answer)
    assert (answer.answered, answer.answer) == (False, prompts.decline(tag))
    assert len(answer.nearest) == 3


def test_a_stream_starts_finds_says_and_ends_with_the_whole_answer(engine: QueryEngine) -> None:
    events = told(engine, COFT)
    started, found, *between, answer = events
    assert isinstance(started, Started)
    assert isinstance(found, Found)
    assert isinstance(answer, Answer)
    assert (answer.id, answer.generation, answer.retrieved) == (started.id, started.generation, found.retrieved)
    assert "".join(event.text for event in between if isinstance(event, Said)) == answer.answer
    assert tuple(event.citation for event in between if isinstance(event, Cited)) == answer.citations
    assert len(between) == 2 * len(answer.citations)


def test_declining_is_streamed_too(engine: QueryEngine) -> None:
    events = told(engine, FOOTBALL)
    assert [type(event) for event in events] == [Started, Found, Said, Answer]


def test_the_same_question_has_the_same_answer(engine: QueryEngine) -> None:
    kept = {"answer", "citations", "retrieved", "answered"}
    assert ask(engine, COFT).model_dump(include=kept) == ask(engine, COFT).model_dump(include=kept)


def test_many_questions_at_once_get_their_own_answers(engine: QueryEngine) -> None:
    alone = {text: ask(engine, text).answer for text in (COFT, FOOTBALL, "What is FLAME?")}

    async def together() -> list[Answer]:
        return await asyncio.gather(*(engine.answer(Question(text=text)) for text in list(alone) * 5))

    assert [answer.answer for answer in asyncio.run(together())] == list(alone.values()) * 5


def test_a_follow_up_leans_on_what_was_said_before(engine: QueryEngine) -> None:
    history = (Turn(role="user", content="What is COFT?"), Turn(role="assistant", content="COFT is a method [1]."))
    answer = ask(engine, "How much does it reduce bias metrics?", history=history)
    assert answer.searched_as is not None
    assert "COFT" in answer.searched_as
    assert answer.citations[0].paper.id == ask(engine, COFT).citations[0].paper.id


def test_a_filter_and_the_number_of_papers_hold(engine: QueryEngine) -> None:
    wanted = ask(engine, COFT).citations[0].paper.id
    others = Filter(ids=tuple(paper.id for paper in engine.papers() if paper.id != wanted))
    assert wanted not in {hit.paper.id for hit in ask(engine, COFT, filter=others, top_k=50).retrieved}
    assert len(ask(engine, COFT, top_k=2).retrieved) == 2
    nothing = ask(engine, COFT, filter=Filter(year=(1990, 1999)))
    assert (nothing.answered, nothing.retrieved, nothing.nearest) == (False, (), ())


def test_the_threshold_for_abstaining_can_be_moved(sample: Settings) -> None:
    assert ask(open_engine(sample.model_copy(update={"abstain_below": 0.0})), FOOTBALL).answered
    assert not ask(open_engine(sample.model_copy(update={"abstain_below": 1.1})), COFT).answered


@pytest.mark.parametrize("legs", ["dense", "lexical"])
def test_one_leg_alone_answers_too(sample: Settings, legs: str) -> None:
    engine = open_engine(sample.model_copy(update={"legs": legs}))
    answer = ask(engine, COFT)
    check(engine, answer)
    assert answer.answered
    assert not ask(engine, FOOTBALL).answered
    assert {leg for hit in answer.retrieved for leg in hit.legs} == {legs}


def test_without_the_sentence_stage_it_answers_and_declines_too(own_sample: Settings) -> None:
    settings = own_sample.model_copy(update={"sentence_stage": False})
    ingest([], settings, rebuild=True)
    engine = open_engine(settings)
    check(engine, ask(engine, COFT))
    assert ask(engine, COFT).answered
    assert not ask(engine, FOOTBALL).answered


@pytest.mark.parametrize("text", ["?", "the of and", "\u200b", "$\\frac{", "😀" * 300, "AND OR NOT (\"*~^[{\\:/';--"])
def test_an_odd_question_is_answered_or_declined(engine: QueryEngine, text: str) -> None:
    check(engine, ask(engine, text))


def test_a_search_page_shows_a_sentence_of_each_paper(engine: QueryEngine) -> None:
    result = asyncio.run(engine.search("bias of language models", k=5))
    assert [hit.rank for hit in result.hits] == [1, 2, 3, 4, 5]
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)
    for hit in result.hits:
        text = engine.paper(hit.paper.id).abstract
        assert text[hit.snippet.start : hit.snippet.end] == hit.snippet.text
        assert hit.legs.keys() <= {"dense", "lexical"}
    assert result.generation == engine.generation


def test_a_paper_that_is_not_there_is_named(engine: QueryEngine) -> None:
    with pytest.raises(NotFound, match="'no such'"):
        engine.paper("no such")
    assert len(list(engine.papers())) == 19


def test_it_can_be_told_where_a_paper_was_lost(engine: QueryEngine) -> None:
    wanted = ask(engine, COFT).citations[0].paper.id
    there = engine.explain(COFT, wanted)
    assert there["candidate"]
    assert there["fused_rank"] == 1
    assert there["gate"]["confidence"] >= there["gate"]["threshold"]
    with pytest.raises(NotFound):
        engine.explain(COFT, "no such")


def test_it_says_what_it_serves(engine: QueryEngine) -> None:
    status = engine.status()
    assert (status["generation"], status["papers"], status["mode"]) == ("gen-000001", 19, "extractive")


def test_without_an_index_there_is_no_engine(empty: Settings) -> None:
    with pytest.raises(NoIndex):
        open_engine(empty)


# with a model


@pytest.fixture
def model() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


def with_model(sample: Settings, server: FakeServer, **more: Any) -> QueryEngine:
    given = {"openai_base_url": server.base_url, "openai_api_key": SecretStr("sk-test"), **more}
    return open_engine(sample.model_copy(update=given))


def supported(body: dict[str, Any]) -> list[str]:
    """The first two sentences of the first source, each with its mark."""
    key, text = next(iter(sources(body).items()))
    said = text.split(". ")[:2]
    return [f'{sentence.rstrip(".")}. [{key}: "{sentence}"] ' for sentence in said]


def test_a_models_words_are_checked_and_cited(sample: Settings, model: FakeServer) -> None:
    model.script(faithful)
    engine = with_model(sample, model)
    answer = ask(engine, COFT)
    check(engine, answer)
    assert answer.answered
    assert (answer.mode, answer.model, answer.degraded) == ("llm", "gpt-4.1-mini", ())
    assert answer.usage.completion_tokens > 0
    assert len(model.history) == 1


def test_the_stream_says_what_the_answer_says_while_the_model_still_speaks(sample: Settings, model: FakeServer) -> None:
    model.default = lambda body: Reply("".join(supported(body)), tokens_per_second=100)

    async def listen() -> tuple[list[Event], int]:
        events, at_first = [], -1
        async for event in with_model(sample, model).stream(Question(text=COFT)):
            if isinstance(event, Said) and at_first < 0:
                at_first = model.finished
            events.append(event)
        return events, at_first

    events, finished = asyncio.run(listen())
    assert finished == 0, "the first words waited for the model's last"
    assert isinstance(events[-1], Answer)
    assert "".join(event.text for event in events if isinstance(event, Said)) == events[-1].answer
    assert tuple(event.citation for event in events if isinstance(event, Cited)) == events[-1].citations


@pytest.mark.parametrize("mark", ["[9]", "[S9]", '[S9: "invented"]', "[1][9]", "【9】"])
def test_a_mark_of_no_source_never_reaches_the_reader(sample: Settings, model: FakeServer, mark: str) -> None:
    model.script(lambda body: f"{supported(body)[0]}The moon is made of cheese {mark}.")
    engine = with_model(sample, model, top_k=3)
    events = told(engine, COFT, top_k=3)
    answer = events[-1]
    assert isinstance(answer, Answer)
    check(engine, answer)
    assert answer.answered
    assert answer.dropped == 1
    assert not any("9" in event.text or "cheese" in event.text for event in events if isinstance(event, Said))


def test_a_model_that_supports_nothing_is_a_decline(sample: Settings, model: FakeServer) -> None:
    model.script("The moon is made of cheese [S1]. It is very far away.")
    engine = with_model(sample, model)
    answer = ask(engine, COFT)
    check(engine, answer)
    assert (answer.answered, answer.answer) == (False, prompts.decline("en"))
    assert answer.dropped


def test_what_the_papers_do_not_tell_costs_no_call(sample: Settings, model: FakeServer) -> None:
    assert not ask(with_model(sample, model), FOOTBALL).answered
    assert model.history == []


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_a_reader_who_leaves_ends_the_models_call_within_a_second(
    sample: Settings, model: FakeServer, how: str
) -> None:
    model.default = lambda body: Reply("".join(supported(body)), mode="stall")
    engine = with_model(sample, model)

    async def leave() -> None:
        if how == "cancel":
            task = asyncio.create_task(engine.answer(Question(text=COFT)))
            while not model.opened:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        else:
            async with aclosing(engine.stream(Question(text=COFT))) as events:
                async for event in events:
                    if isinstance(event, Said):
                        break
        assert await asyncio.to_thread(model.wait, lambda: model.hung_up == 1)

    asyncio.run(leave())


@pytest.mark.parametrize("fails", [Reply(status=500), Reply(mode="reset_first"), Reply(mode="html"), Reply(status=401)])
def test_a_model_that_fails_before_its_first_word_is_done_without(
    sample: Settings, model: FakeServer, fails: Reply
) -> None:
    model.default = fails
    engine = with_model(sample, model)
    answer = ask(engine, COFT)
    check(engine, answer)
    assert answer.answered
    assert (answer.mode, answer.model) == ("extractive", "extractive")
    assert len(answer.degraded) == 1
    assert "secret" not in answer.degraded[0]
    assert ask(open_engine(sample), COFT).answer == answer.answer


@pytest.mark.parametrize("mode", ["cut", "reset", "error_event", "garbage", "cut_utf8"])
def test_an_answer_cut_in_the_middle_is_an_error_and_not_a_shorter_answer(
    sample: Settings, model: FakeServer, mode: Any
) -> None:
    def half(body: dict[str, Any]) -> Reply:
        first, second = supported(body)
        return Reply(mode=mode, pieces=(first, "And ", "then ", *second.split(), "and ", "so ", "on "))

    model.default = half
    said: list[Event] = []

    async def listen() -> None:
        async for event in with_model(sample, model).stream(Question(text=COFT)):
            said.append(event)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(UpstreamError):
        asyncio.run(listen())
    assert any(isinstance(event, Said) for event in said)
    assert not any(isinstance(event, Answer) for event in said)


def test_a_model_that_runs_out_of_tokens_shows_its_whole_sentences_and_says_so(
    sample: Settings, model: FakeServer
) -> None:
    model.script(lambda body: Reply(f"{supported(body)[0]}And then it", finish="length"))
    engine = with_model(sample, model)
    answer = ask(engine, COFT)
    check(engine, answer)
    assert answer.answered
    assert answer.degraded
    assert "And then" not in answer.answer


# inside llama-index


def test_it_is_a_query_engine_and_its_retriever_a_retriever(engine: QueryEngine) -> None:
    assert isinstance(engine, BaseQueryEngine)
    assert isinstance(engine._served.retriever, BaseRetriever)


def test_a_llama_index_application_queries_it(engine: QueryEngine) -> None:
    response = engine.query(COFT)
    answer = ask(engine, COFT)
    assert str(response) == answer.answer
    assert response.metadata is not None
    assert response.metadata["citations"] == answer.model_dump(mode="json")["citations"]
    assert [node.node.metadata["paper_id"] for node in response.source_nodes] == [
        hit.paper.id for hit in answer.retrieved
    ]
    assert [node.score for node in response.source_nodes] == [hit.score for hit in answer.retrieved]


def test_it_can_be_queried_again_and_again_and_where_a_loop_runs(sample: Settings, model: FakeServer) -> None:
    model.default = faithful
    engine = with_model(sample, model)

    async def within() -> str:
        return str(engine.query(COFT))  # as a notebook does

    async def awaited() -> str:
        return str(await engine.aquery(COFT))

    said = {str(engine.query(COFT)), str(engine.query(COFT)), asyncio.run(within()), asyncio.run(awaited())}
    assert said == {ask(engine, COFT).answer}


def test_its_retriever_serves_another_query_engine(engine: QueryEngine) -> None:
    retriever = engine._served.retriever
    nodes = retriever.retrieve("LipoPU")
    assert nodes[0].node.metadata["title"] == "LipoPU"
    assert nodes[0].node.get_content() == engine.paper(nodes[0].node.metadata["paper_id"]).abstract
    synthesizer = get_response_synthesizer(response_mode=ResponseMode.COMPACT, llm=MockLLM())
    theirs = RetrieverQueryEngine(retriever, response_synthesizer=synthesizer).query("LipoPU")
    assert [node.node_id for node in theirs.source_nodes] == [node.node_id for node in nodes]


def test_filters_that_leave_nothing_are_named_as_the_reason(engine: QueryEngine) -> None:
    answer = asyncio.run(engine.answer(Question(text="What is EntQuant?", filter=Filter(venue="COLT"))))
    assert (answer.answered, answer.answer, answer.retrieved) == (False, prompts.no_match("en"), ())


@pytest.mark.parametrize("text", ["???", "😀", "…"])
def test_what_has_no_word_is_declined(engine: QueryEngine, text: str) -> None:
    assert not asyncio.run(engine.answer(Question(text=text))).answered


def test_a_model_that_runs_on_is_left_and_its_answer_is_said_to_be_cut(sample: Settings) -> None:
    line = 'COFT reduces standard bias metrics by 30-55%. [S1: "reduces standard bias metrics by 30–55"] '
    with FakeServer(Reply(line + "And so on without end. " * 5_000)) as server:
        settings = sample.model_copy(update={"openai_base_url": server.base_url})
        answer = ask(open_engine(settings), "How much does COFT reduce standard bias metrics?")
    assert answer.answer.startswith("COFT reduces standard bias metrics by 30-55%. [1]")
    assert any("cut short" in reason for reason in answer.degraded)
