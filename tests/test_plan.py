"""What is stored x what came -> what to do."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.plan import Plan, plan
from rag.types import Paper


def paper(id_: str, abstract: str) -> Paper:
    return Paper(id=id_, abstract=abstract)


PAPERS = st.lists(st.builds(paper, st.sampled_from("abcdef"), st.sampled_from(["one", "two", "three"])), max_size=10)


def stored(papers: list[Paper]) -> dict[str, str]:
    """Id -> digest as it stands after `papers` were written, the first of an id winning."""
    return {p.id: p.digest for p in reversed(papers)}


def applied(before: dict[str, str], todo: Plan) -> dict[str, str]:
    written = {id_: p.digest for id_, p in todo.papers.items()}
    return {id_: digest for id_, digest in (before | written).items() if id_ not in todo.drop}


@given(PAPERS, st.booleans())
def test_the_same_list_again_changes_nothing(papers: list[Paper], sync: bool) -> None:
    todo = plan(stored(papers), papers, sync=sync)
    assert todo.empty
    assert not todo.papers


@given(PAPERS, PAPERS, st.sets(st.sampled_from("abcdef")))
def test_with_sync_all_that_did_not_come_is_dropped_but_the_spared(
    before: list[Paper], came: list[Paper], spared: set[str]
) -> None:
    todo = plan(stored(before), came, sync=True, spared=spared)
    assert set(todo.drop) == {p.id for p in before} - {p.id for p in came} - spared


@given(PAPERS, PAPERS, st.booleans())
def test_after_a_plan_is_carried_out_there_is_nothing_left_to_do(
    before: list[Paper], came: list[Paper], sync: bool
) -> None:
    todo = plan(stored(before), came, sync=sync)
    assert plan(applied(stored(before), todo), came, sync=sync).empty


@given(PAPERS, PAPERS, st.booleans())
def test_every_paper_has_one_fate(before: list[Paper], came: list[Paper], sync: bool) -> None:
    todo = plan(stored(before), came, sync=sync)
    fates = todo.add + todo.change + todo.keep + todo.drop
    assert sorted(fates) == sorted({p.id for p in before} | {p.id for p in came})
    assert set(todo.papers) == {*todo.add, *todo.change}
    assert len(came) == len({p.id for p in came}) + len(todo.repeated)


@given(PAPERS, PAPERS)
def test_with_sync_the_list_is_the_whole_truth(before: list[Paper], came: list[Paper]) -> None:
    todo = plan(stored(before), came, sync=True)
    assert applied(stored(before), todo) == stored(came)


@given(PAPERS, PAPERS)
def test_without_sync_nothing_is_dropped(before: list[Paper], came: list[Paper]) -> None:
    todo = plan(stored(before), came)
    assert not todo.drop
    assert applied(stored(before), todo) == stored(before) | stored(came)


def test_of_a_paper_that_comes_twice_the_first_counts() -> None:
    todo = plan({}, [paper("a", "one"), paper("a", "two")])
    assert todo.papers["a"].abstract == "one"
    assert todo.repeated == ["a"]


def test_a_changed_field_is_a_change() -> None:
    old = paper("a", "one")
    assert plan({"a": old.digest}, [old.model_copy(update={"venue": "ICML"})]).change == ["a"]
