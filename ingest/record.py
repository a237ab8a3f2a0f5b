"""What a reader makes of a raw list, before anything is judged."""

from typing import Any

from pydantic import Field

from rag.types import Frozen


class Record(Frozen):
    """One entry as it stands in a list. `where` names it to a person ("line 12", "record 3")."""

    where: str
    fields: dict[str, Any]


class Rejected(Frozen):
    """An entry that does not become a paper, and why.

    `final` tells that it was read well and is no paper (withdrawn, a tutorial, a preface): mending the list would
    not make one of it, and under --sync it holds no place.
    """

    source: str
    where: str
    reason: str
    title: str | None = None
    id: str | None = None
    final: bool = False


class Reading(Frozen):
    """How a person wants lists to be read: the form where it is not to be found by content, and names of fields.

    `mapping` is field of ours -> name in the list (`--map title=Titel`).
    """

    form: str | None = None
    mapping: dict[str, str] = Field(default_factory=dict)
    keep_title_only: bool = False
