"""The guard: pieces of a model's answer in, checked sentences with citations out.

Whatever the model says, what leaves here cites passages of papers retrieved for this question, and each
sentence is borne out by them as far as code can see. The rest is dropped, and counted by reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.citations.brackets import forged
from rag.citations.claims import Facts, facts
from rag.citations.quotes import Numbers
from rag.citations.record import Record
from rag.citations.riders import rider
from rag.citations.splitter import Draft, Splitter
from rag.citations.support import UNMARKED, UNMARKED_WORDS, Asked, Basis, Similar, foreign, objection
from rag.citations.thoughts import Thoughts
from rag.types import Citation, Source

LONGEST = 20_000  # characters of a model's words that are looked at
WEAK = 0.34  # a cited source that holds less than this share of what the best one holds of a sentence is left out
GAPS = ["", " ", "\n", "\n\n"]  # what may stand between two sentences, weakest first
_LIST = re.compile(r"^\s*(?:[-*•–+]|\d{1,3}[.)])\s+(?=\S)")
_DECORATION = re.compile(r"\*\*|__|^\s*#{1,6}\s+|^\s*>\s+|`", re.M)
_BARE_LINK = re.compile(r"<(https?://[^<>\s]+)>")
_KEY_LEFT = re.compile(r"[\[【(（]\s*(?:sources?\s*)?[Ss]\d+\b|\bKEY:")


@dataclass(frozen=True)
class Checked:
    """A sentence that may be shown, with the white space before it; `citations` are those it shows first."""

    text: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True)
class Dropped:
    """A sentence that may not. `reason` without its details is one of a few fixed phrases."""

    text: str
    reason: str

    @property
    def kind(self) -> str:
        return self.reason.split(":")[0]


class Checker:
    """For one answer. `similar(sentence, passage)` with `least` adds a check by embeddings to that of words.
    What comes after `longest` characters is dropped unread."""

    def __init__(
        self,
        sources: Sequence[Source],
        question: str,
        *,
        refusal: str = "",
        similar: Similar | None = None,
        least: float = 0.0,
        longest: int = LONGEST,
    ) -> None:
        records = [Record(source) for source in sources]
        self._records = {record.source.key: record for record in records}
        self._asked = Asked(question, records)
        self._refusal, self._similar, self._least = refusal, similar, least
        self._thoughts, self._splitter, self._numbers = Thoughts(), Splitter(), Numbers()
        self._gap = ""
        self._left = longest
        self._over = False
        self.text = ""
        self.dropped: list[Dropped] = []
        self.refused = False

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._numbers.citations)

    @property
    def drop_reasons(self) -> dict[str, int]:
        kinds = [one.kind for one in self.dropped]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def feed(self, piece: str) -> list[Checked]:
        """The sentences that this piece completes and that hold. Their texts joined are the answer."""
        return self._check(self._split(self._thoughts.push(piece)))

    def finish(self, *, whole: bool = True) -> list[Checked]:
        """The rest. Where the model was cut short (not `whole`), an unfinished sentence is dropped."""
        drafts = self._split(self._thoughts.end())
        open_ = self._splitter.end()
        if self._over:
            self.dropped.append(Dropped(" ".join(draft.text for draft in open_), "too long"))
            return self._check(drafts)
        drafts += open_
        if drafts and not whole and not drafts[-1].ended:
            self.dropped.append(Dropped(drafts.pop().text, "cut short"))
        return self._check(drafts)

    def _split(self, text: str) -> list[Draft]:
        taken, self._over = text[: self._left], self._over or len(text) > self._left
        self._left -= len(taken)
        return self._splitter.push(taken)

    def _check(self, drafts: list[Draft]) -> list[Checked]:
        return [checked for draft in drafts if (checked := self._checked(draft)) is not None]

    def _checked(self, draft: Draft) -> Checked | None:
        self._gap = max(self._gap, _gap(draft.gap), key=GAPS.index)
        said = _tidy(draft.text)
        if not re.search(r"\w", said):
            return None
        if self._refusal and self._refusal in said:
            self.refused = True
            return None
        claim = facts(_LIST.sub("", said))
        basis, reason = self._basis(draft, claim)
        reason = reason or objection(claim, said, basis, self._asked, self._similar, self._least)
        if not reason and forged(said, [record.brackets for record in basis.records]):
            reason = "broken mark"
        known = [record.all_words for record in basis.records]
        reason = reason or rider(draft.spoken, claim, basis.facts, known, foreign=foreign(claim, basis))
        if reason:
            self.dropped.append(Dropped(said, reason))
            return None
        return self._shown(draft, basis)

    def _basis(self, draft: Draft, claim: Facts) -> tuple[Basis, str | None]:
        """What a sentence rests on by its marks, or a reason against it."""
        nothing = Basis([])
        items = [item for mark in draft.marks for item in mark.items]
        if draft.broken or _KEY_LEFT.search(draft.text):
            return nothing, "broken mark"
        if not items:
            basis = self._attributed(claim)
            return basis or nothing, None if basis else "no citation"
        quoted: dict[str, list[int]] = {}
        for key, words in items:
            if key in self._records:
                quoted.setdefault(key, []).extend(self._records[key].quoted(words))
        chosen = [(self._records[key], self._records[key].choose(claim, quoted[key])) for key in quoted]
        places = _strong([(record, sorted(set(one))) for record, one in chosen if one], claim)
        if not places:
            return nothing, "no support in source" if quoted else "unknown source"
        return Basis(places, any(quoted[record.source.key] for record, _ in places)), None

    def _attributed(self, claim: Facts) -> Basis | None:
        """The one passage that holds nearly all words of a sentence without a mark, if there is one."""
        best: tuple[float, Record, int] | None = None
        for record in self._records.values():
            for place, words in enumerate(record.words):
                share = len(words.among(claim.words)) / max(1, len(claim.words))
                if len(claim.words) >= UNMARKED_WORDS and share >= UNMARKED and (best is None or share > best[0]):
                    best = (share, record, place)
        return Basis([(best[1], [best[2]])]) if best else None

    def _shown(self, draft: Draft, basis: Basis) -> Checked:
        """The sentence as it is shown: marks become numbers, in order of first use."""
        known = len(self._numbers.citations)
        shown = {record.source.key: self._numbered(record, places) for record, places in basis.places}
        out, done = "", set[str]()
        for part in draft.parts:
            if isinstance(part, str):
                out += part
                continue
            fresh = [key for key, _ in part.items if key in shown and key not in done]
            done.update(fresh)
            out = out if fresh else out.rstrip(" ")
            out += "".join(shown[key] for key in dict.fromkeys(fresh))
        text = _tidy(out)
        text += "" if done else " " + "".join(shown.values())
        text = _LIST.sub("- ", text) if _LIST.match(text) else text
        before, self._gap = (self._gap if self.text else ""), ""
        self.text += before + text
        return Checked(before + text, tuple(self._numbers.citations[known:]))

    def _numbered(self, record: Record, places: list[int]) -> str:
        spans = record.abstract.joined(places)
        given = [self._numbers.of(record.paper, span.start, span.end)[0] for span in spans]
        return "".join(f"[{number}]" for number in dict.fromkeys(given))


def _strong(places: list[tuple[Record, list[int]]], claim: Facts) -> list[tuple[Record, list[int]]]:
    """Without the sources that hold little of the claim beside the best of them."""
    weights = [sum(record.weigh(claim, place) for place in one) for record, one in places]
    return [pair for pair, weight in zip(places, weights, strict=True) if weight >= WEAK * max(weights)]


def _gap(white: str) -> str:
    return GAPS[-1] if white.count("\n") > 1 else GAPS[2] if "\n" in white else GAPS[bool(white)]


def _tidy(text: str) -> str:
    """Without decoration, and with a bare link for one in angle brackets."""
    return _BARE_LINK.sub(r"\1", _DECORATION.sub("", text)).strip()
