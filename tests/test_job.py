"""Lists -> a new generation: what is embedded, kept, dropped, set aside; the same ids on every machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.job import Report, ingest
from rag.engine import QueryEngine, open_engine
from rag.errors import Corrupt, InputError, ModelMismatch, NoIndex, NotFound
from rag.settings import Settings
from rag.store import Store
from rag.text import count_tokens, sentences
from rag.types import Question
from tests.conftest import SAMPLE_LIST
from tests.corpus import ROWS, changed, papers, write
from tests.hashed import OTHER
from tests.test_store import cut, folder

KEYS = Path(__file__).parent.parent.parent / "shared" / "evals" / "seed_keys.json"


def again(settings: Settings, rows: Any = ROWS, **options: Any) -> Report:
    """Ingest these rows into an index that is there already."""
    return ingest([write(settings.data_dir / "list.jsonl", rows)], settings, **options)


def ids(settings: Settings) -> set[str]:
    return set(Store(settings).catalog().digests())


def found(settings: Settings, words: str) -> list[str]:
    """Papers that have one of these words, by the word index."""
    engine = open_engine(settings.model_copy(update={"legs": "lexical"}))
    return [hit.paper.id for hit in engine.hits(Question(text=words))]


# the sample list


@pytest.mark.skipif(not KEYS.exists(), reason="NO ../shared: ids are NOT compared with those of another machine")
def test_the_ids_of_the_sample_list_are_those_of_every_machine(sample: Settings) -> None:
    keys = json.loads(KEYS.read_text("utf-8"))
    assert ids(sample) == {key["sha256"][:16] for key in keys.values()}


def test_the_ids_of_the_sample_list_are_made_of_the_texts(sample: Settings, tmp_path: Path) -> None:
    wrapped = tmp_path / "wrapped.txt"
    wrapped.write_text(SAMPLE_LIST.read_text("utf-8").replace(". ", ".\n"), encoding="utf-8", newline="\r\n")
    other = Settings(data_dir=tmp_path / "data")
    assert ingest([wrapped], other, dry_run=True).added == 19
    report = ingest([wrapped], sample, dry_run=True)
    assert (report.kept, report.changed, report.added) == (19, 0, 0)  # wrapped lines are joined again


def test_the_sample_list_again_embeds_nothing_and_writes_nothing(sample: Settings) -> None:
    report = ingest([SAMPLE_LIST], sample)
    assert (report.read, report.kept, report.embedded, report.written) == (19, 19, 0, False)
    assert Store(sample).names() == ["gen-000001"]


def test_a_rebuild_embeds_nothing_and_answers_alike(own_sample: Settings, engine: QueryEngine) -> None:
    report = ingest([], own_sample, rebuild=True)
    assert (report.papers, report.embedded, report.generation) == (19, 0, "gen-000002")
    for text in ("How much does COFT reduce standard bias metrics?", "量化", "privacy of language models"):
        question = Question(text=text)
        assert open_engine(own_sample).hits(question) == engine.hits(question)


def test_every_abstract_of_the_sample_list_is_one_passage(sample: Settings) -> None:
    generation = Store(sample).open()
    for row in range(generation.catalog.passages):
        passage = generation.catalog.passage(row)
        assert (passage.start, passage.end) == (0, len(passage.paper.abstract))
    assert generation.manifest.passages == generation.manifest.papers == 19


# add, keep, change, drop


def test_the_same_list_again_changes_nothing_even_generations_later(small: Settings) -> None:
    assert not again(small).written
    more = {"id": "new", "abstract": "A new paper about kernel methods for the ptarmigan.", "z": 1, "a": 2, "m": [3]}
    assert again(small, [*ROWS, more]).added == 1
    assert again(small, [*ROWS, {**ROWS[0], "id": "newer"}, more]).added == 1
    report = again(small, [*ROWS, more])
    assert (report.kept, report.written) == (6, False)


def test_an_edited_abstract_has_its_passage_and_its_new_sentence_embedded_and_no_more(small: Settings) -> None:
    edited = ROWS[0]["abstract"].replace("Code is public.", "Walruses are next.")
    report = again(small, changed("birds", abstract=edited))
    assert (report.changed, report.kept, report.embedded) == (1, 3, 2)
    assert found(small, "walruses") == ["birds"]
    assert found(small, "public") == []
    assert Store(small).catalog().paper("birds").abstract == edited  # type: ignore[union-attr]


def test_another_author_embeds_nothing(small: Settings) -> None:
    report = again(small, changed("birds", authors=["Somebody Else"]))
    assert (report.changed, report.embedded) == (1, 0)
    assert found(small, "scholkopf") == []
    assert found(small, "somebody") == ["birds"]


def test_a_title_is_part_of_what_is_embedded(small: Settings) -> None:
    assert again(small, changed("birds", title="Birds, Counted")).embedded == 1


def test_without_sync_what_a_list_does_not_name_stays(small: Settings) -> None:
    report = again(small, ROWS[:1])
    assert (report.kept, report.written, ids(small)) == (4, False, {p.id for p in papers()})


def test_with_sync_what_the_lists_no_longer_name_is_dropped(small: Settings) -> None:
    report = again(small, ROWS[1:], sync=True)
    assert (report.kept, report.dropped, report.embedded) == (3, 1, 0)
    assert ids(small) == {p.id for p in papers()} - {"birds"}
    assert found(small, "ptarmigan") == []


def test_with_sync_a_paper_whose_record_is_broken_now_is_not_dropped(small: Settings) -> None:
    report = again(small, [{**ROWS[0], "abstract": "too short"}, *ROWS[1:]], sync=True)
    assert (report.kept, report.dropped, len(report.rejected)) == (4, 0, 1)
    assert ids(small) == {p.id for p in papers()}


def test_with_sync_nothing_is_dropped_while_a_line_cannot_be_read_unless_lenient(
    small: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS[2:]) + "{broken\n")
    report = ingest([path], small, sync=True)
    assert (report.kept, report.dropped, report.held, report.written) == (4, 0, 2, False)
    assert ingest([path], small, sync=True, lenient=True).dropped == 2


def test_several_lists_are_one(empty: Settings, tmp_path: Path) -> None:
    lists = [write(tmp_path / "a.jsonl", ROWS[:2]), write(tmp_path / "b.jsonl", ROWS[1:])]
    report = ingest(lists, empty)
    assert (report.read, report.added, report.repeated) == (5, 4, 1)


def test_a_dry_run_says_what_would_be_done_and_does_nothing(small: Settings) -> None:
    report = again(small, ROWS[1:], sync=True, dry_run=True)
    assert (report.dropped, report.kept, report.written) == (1, 3, False)
    assert Store(small).names() == ["gen-000001"]


def test_ids_of_any_kind_are_searched_and_shown(small: Settings) -> None:
    assert found(small, "kernel methods")[:1] == ["10.1/x y?#"]


# what cannot be used


def test_a_broken_line_is_set_aside_with_its_number_and_the_rest_is_taken(empty: Settings, tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in ROWS]
    path = tmp_path / "list.jsonl"
    path.write_text("\n".join([lines[0], '{"abstract": "cut', *lines[1:], '{"title": "No Abstract"}']))
    report = ingest([path], empty)
    assert (report.read, report.added) == (6, 4)
    assert [(r.source, r.where) for r in report.rejected] == [("list.jsonl", "line 2"), ("list.jsonl", "line 6")]
    assert report.rejected[1].title == "No Abstract"


def test_a_list_without_any_paper_changes_nothing_even_with_sync(small: Settings) -> None:
    with pytest.raises(InputError, match=r"no paper in .*(line|record) 1: no usable abstract.*nothing was changed"):
        again(small, [{"title": "only"}], sync=True)
    assert ids(small) == {p.id for p in papers()}


def test_a_list_that_cannot_be_read_leaves_everything_as_it_was(small: Settings, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"none\.txt"):
        ingest([write(tmp_path / "more.jsonl", changed("birds", year=1999)), tmp_path / "none.txt"], small)
    assert Store(small).names() == ["gen-000001"]


# another model, torn files


def test_another_model_is_refused_with_both_names_and_the_cure_and_a_rebuild_cures_it(small: Settings) -> None:
    other = small.model_copy(update={"embed_model": OTHER})
    with pytest.raises(ModelMismatch, match=r"gen-000001 was built with .*hashed.*now .*other.*--rebuild"):
        again(other, changed("birds", year=1999))
    with pytest.raises(ModelMismatch, match=r"gen-000001 was built with .*hashed.*is .*other.*--rebuild"):
        open_engine(other)
    assert open_engine(small).generation == "gen-000001"
    report = ingest([], other, rebuild=True)
    assert (report.papers, report.embedded > 0) == (4, True)
    assert open_engine(other).generation == "gen-000002"
    assert ingest([], small, rebuild=True).embedded == 0  # the first model's vectors are remembered


@pytest.mark.parametrize("torn", ["passages.npy", "words/meta.json", "chroma/chroma.sqlite3", "manifest.json"])
def test_a_rebuild_keeps_every_paper_whatever_is_torn_but_the_texts(small: Settings, torn: str) -> None:
    cut(torn)(folder(small))
    with pytest.raises(Corrupt):
        open_engine(small)
    assert ingest([], small, rebuild=True).papers == 4
    assert found(small, "ptarmigan") == ["birds"]


def test_without_its_texts_an_index_is_made_again_from_lists_alone(small: Settings) -> None:
    cut("catalog.sqlite")(folder(small))
    with pytest.raises(Corrupt, match="--rebuild PATH"):
        ingest([], small, rebuild=True)
    with pytest.raises(Corrupt, match="--rebuild PATH"):
        again(small)
    assert again(small, rebuild=True).papers == 4
    assert Store(small).current() == "gen-000002"


def test_there_is_nothing_to_rebuild_before_the_first_ingest(empty: Settings) -> None:
    with pytest.raises(NoIndex, match="confab ingest PATH"):
        ingest([], empty, rebuild=True)
    assert Store(empty).current() is None


# passages


def test_a_long_record_is_split_into_passages_that_are_slices_between_sentences(
    empty: Settings, tmp_path: Path
) -> None:
    said = [f"Sentence {n} of the long record speaks of topic {n * 7919 % 101}, and of  $x_{n}$." for n in range(60)]
    wall = "天地玄黄宇宙洪荒日" * 100  # no sentence ends within the limit
    rows = [{"id": "long", "abstract": "\n".join(said)}, {"id": "wall", "abstract": wall + "。" + wall}, *ROWS]
    settings = empty.model_copy(update={"chunk_tokens": 128})
    ingest([write(tmp_path / "list.jsonl", rows)], settings)
    generation = Store(settings).open()
    passages = [generation.catalog.passage(row) for row in range(generation.catalog.passages)]
    for id_ in ("long", "wall"):
        own = [p for p in passages if p.paper.id == id_]
        text = own[0].paper.abstract
        assert len(own) > 5
        assert "".join("".join(text[p.start : p.end].split()) for p in own) == "".join(text.split())
        assert all(count_tokens(text[p.start : p.end]) <= 128 * 1.05 for p in own)  # blanks between are not counted
        if id_ == "long":
            assert {p.start for p in own} <= {start for start, _ in sentences(text)}
    hits = open_engine(settings).hits(Question(text="Sentence 41 of the long record"))
    assert [hit.paper.id for hit in hits].count("long") == 1
    assert "Sentence 41" in hits[0].text


def test_without_the_sentence_stage_no_sentence_is_embedded(empty: Settings, tmp_path: Path) -> None:
    settings = empty.model_copy(update={"sentence_stage": False})
    assert ingest([write(tmp_path / "list.jsonl")], settings).embedded == 4
    assert open_engine(settings).hits(Question(text="the ptarmigan from space"))[0].paper.id == "birds"


def test_progress_is_told_to_its_end(small: Settings) -> None:
    told: list[tuple[str, int, int]] = []
    again(small, changed("birds", title="Else"), progress=lambda *step: told.append(step))
    assert {what for what, _, _ in told} == {"embedding", "building"}
    assert [(done, of) for what, done, of in told if what == "building"][-1] == (3, 3)
    assert all(done == of for what, done, of in told if what == "embedding")
