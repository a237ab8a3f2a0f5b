"""What a reader makes of a raw list, before anything is judged."""

from typing import Any

from rag.types import Frozen


class Record(Frozen):
    """One entry as it stands in a list. `where` names it to a person ("line 12", "paragraph 3")."""

    where: str
    fields: dict[str, Any]


class Rejected(Frozen):
    """An entry that does not become a paper, and why."""

    source: str
    where: str
    reason: str
    title: str | None = None
    id: str | None = None
