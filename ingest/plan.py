"""What is stored x what came -> what to do. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rag.types import Paper


@dataclass
class Plan:
    """Ids by what happens to them. `papers` are those to write: added and changed."""

    papers: dict[str, Paper] = field(default_factory=dict)
    add: list[str] = field(default_factory=list)
    change: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Nothing to write."""
        return not (self.add or self.change or self.drop)


def plan(stored: Mapping[str, str], came: Iterable[Paper], *, sync: bool = False, spared: Collection[str] = ()) -> Plan:
    """`stored` maps id to digest. A paper that comes twice counts once, as it came first.

    With `sync` the lists are the whole truth, and what they no longer name is dropped, but for the ids `spared`
    (named by a record that is not usable).
    """
    out = Plan()
    seen: set[str] = set()
    for paper in came:
        if paper.id in seen:
            out.repeated.append(paper.id)
            continue
        seen.add(paper.id)
        if stored.get(paper.id) == paper.digest:
            out.keep.append(paper.id)
            continue
        (out.change if paper.id in stored else out.add).append(paper.id)
        out.papers[paper.id] = paper
    for absent in (id_ for id_ in stored if id_ not in seen):
        (out.drop if sync and absent not in spared else out.keep).append(absent)
    return out
