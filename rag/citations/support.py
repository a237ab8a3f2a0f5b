"""Whether the passages that a sentence cites bear it out: a reason against it, or none.

By code alone, so it errs on the side of silence: it sees numbers, names, signs, denials, directions and words,
not meaning. Each reason is a fixed phrase, with the thing itself after a colon.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rag.citations.claims import GENERIC, Facts, content
from rag.citations.names import Index, marked_up, strong
from rag.citations.numbers import Number, numbers, stands
from rag.citations.quotes import plain
from rag.citations.record import Record, Words
from rag.text import CJK

# By `python -m evals.support` on iclr2018-tldr: 0.72 of authors' one-line summaries pass on their own abstract, 0.001
# on another's, 0.998 of verbatim sentences; 0.03 with a number changed, 0.12 with a denial put in or taken out.
IN_PASSAGES = 0.5  # share of the telling words of a claim that stand in the passages it cites
IN_SOURCE = 0.6  # and in the cited papers or the question
UNMARKED = 0.75  # share in one passage that makes it the source of a sentence without a mark
UNMARKED_WORDS = 4

MOST_COUNTED = 10  # a count up to this may be that of a list in the sentence
_ITEM = re.compile(r",\s+(?:and\s+|or\s+)?|;\s+|\s+(?:and|or)\s+|、|，|和")
_EVERYWHERE = frozenset("AI ML NLP LLM LLMs RL CV GPU GPUs CPU".split())  # no claim by themselves
_CJK = re.compile(f"[{CJK}]")
_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z]+")
Similar = Callable[[str, str], float]


@dataclass
class Asked:
    """The question: what it names may be denied, not affirmed. `others` holds all sources retrieved for it."""

    text: str
    others: Sequence[Record] = ()
    index: Index = field(init=False)
    words: Words = field(init=False)
    numbers: frozenset[Number] = field(init=False)

    def __post_init__(self) -> None:
        seen = plain(self.text)
        self.index, self.words, self.numbers = Index(seen), Words(content(seen)), numbers(seen)


@dataclass
class Basis:
    """What a claim rests on: for each cited source the places of its sentences. `quoted`: the model gave words
    that stand there."""

    places: list[tuple[Record, list[int]]]
    quoted: bool = False

    @property
    def facts(self) -> list[Facts]:
        return [record.facts[place] for record, places in self.places for place in places]

    @property
    def records(self) -> list[Record]:
        return [record for record, _ in self.places]

    @property
    def text(self) -> str:
        return " ".join(one.text for one in self.facts)


def objection(claim: Facts, said: str, basis: Basis, asked: Asked, similar: Similar | None, least: float) -> str | None:
    """Why `claim` (the sentence `said`) may not be shown, or None."""
    if marked_up(said):
        return "markup"
    if claim.text.rstrip("\"'”’)] ").endswith(("?", "？")):
        return "a question"
    return (
        _addresses(claim, basis)
        or _numbers(claim, basis, asked)
        or _names(claim, basis, asked)
        or _signs(claim, basis, asked)
        or _ways(claim, basis)
        or _roles(claim, basis)
        or _denials(claim, basis, asked)
        or _words(claim, basis, asked, similar, least)
    )


def _addresses(claim: Facts, basis: Basis) -> str | None:
    known = frozenset().union(*(record.addresses for record in basis.records))
    strange = [one for one in claim.addresses if one not in known and not _held(one, basis)]
    return f"address not in source: {strange[0]}" if strange else None


def _held(written: str, basis: Basis) -> bool:
    """A name with a dot ("Node.js", "v1.pt") is no address where the abstract has it as it stands."""
    return "/" not in written and "@" not in written and any(written in one.text.casefold() for one in basis.facts)


def _numbers(claim: Facts, basis: Basis, asked: Asked) -> str | None:
    there = {number for one in basis.facts for number in one.numbers}
    there |= {Number(str(record.paper.year), "") for record in basis.records if record.paper.year}
    denied = numbers(claim.refuted)
    there |= {one for one in asked.numbers if stands(one, denied) or _counted(one, claim)}
    strange = sorted(str(number) for number in claim.numbers if not stands(number, there))
    return f"number not in source: {strange[0]}" if strange else None


def _counted(number: Number, claim: Facts) -> bool:
    """Whether a small number of the question is that of the things which the sentence lists: "three: a, b and c"."""
    small = not number.unit and number.value.isdigit() and 2 < int(number.value) <= MOST_COUNTED
    return small and len(_ITEM.split(claim.text)) >= int(number.value)


def _names(claim: Facts, basis: Basis, asked: Asked) -> str | None:
    for name in claim.names:
        if not any(_named(name, record.index) for record in basis.records) and not _known(name, claim, basis, asked):
            return f"name not in source: {name}"
    return None


def _named(name: str, index: Index) -> bool:
    return (
        index.holds(name) or index.spells(name) or all(index.holds(part) for part in re.split(r"[-/+.']", name) if part)
    )


def _known(name: str, claim: Facts, basis: Basis, asked: Asked) -> bool:
    """A name of the question that the sentence denies, unless it is another source's; a capitalised common word;
    a word of an acronym; an acronym that the sentence itself writes out."""
    if strong(name):
        if _written_out(name, claim.text):
            return True
        elsewhere = any(record.index.holds(name) for record in asked.others if record not in basis.records)
        denied = name in _EVERYWHERE or Index(claim.refuted).holds(name)
        return asked.index.holds(name) and denied and not elsewhere
    stems = content(name) - GENERIC
    denied = asked.index.holds(name) and Index(claim.refuted).holds(name)
    if denied or all(any(stem in record.all_words for record in basis.records) for stem in stems):
        return True
    initials = "".join(word[0] for word in claim.names if not strong(word))
    return any(acronym in initials for record in basis.records for acronym in record.index.capitals if len(acronym) > 2)


def _written_out(name: str, text: str) -> bool:
    """``positive-unlabeled (PU)``: the words before the bracket, which are checked themselves, spell it."""
    before = re.split(r"[\s-]+", text.split(f"({name})")[0].strip())[-len(name) :]
    return f"({name})" in text and "".join(word[:1] for word in before).casefold() == name.casefold()


def _signs(claim: Facts, basis: Basis, asked: Asked) -> str | None:
    there = frozenset(asked.text).union(*(record.signs for record in basis.records))
    strange = sorted(claim.signs - there)
    return f"sign not in source: {strange[0]}" if strange else None


def _ways(claim: Facts, basis: Basis) -> str | None:
    ways = frozenset().union(*(one.ways for one in basis.facts))
    opposite = len(claim.ways) == 1 and len(ways) == 1 and ways != claim.ways
    return f"direction not in source: {next(iter(claim.ways))}" if opposite else None


def _roles(claim: Facts, basis: Basis) -> str | None:
    for better, worse in claim.beats:
        sides = [(b, w) for one in basis.facts for b, w in one.beats]
        straight = any(better & b or worse & w for b, w in sides)
        if not straight and any(better & w and worse & b for b, w in sides):
            return "compared the other way round"
    return None


def _denials(claim: Facts, basis: Basis, asked: Asked) -> str | None:
    """A denial that the passages do not make of the same words, or one of theirs left out."""
    passages = basis.facts
    said = Words(word for one in passages for word in one.words)
    denied = Words(word for one in passages for group in one.denied for word in group)
    softly = any(one.softly for one in passages)
    corrects = any(not stands(number, {n for one in passages for n in one.numbers}) for number in claim.numbers)
    for group in claim.denied:
        if not (corrects or softly or denied.among(group)) and said.among(group) == group:
            return f"denial not in source: {' '.join(sorted(group))}"
    if foreign(claim, basis):
        unsupported = claim.denies and not softly and not any(one.denies for one in passages)
        return "denial not in source" if unsupported and not corrects else None
    claimed, refused = Words(claim.words), Words(word for group in claim.denied for word in group)
    for group in (group for one in passages for group in one.denied):
        if not claim.softly and claimed.among(group) == group and not refused.among(group):
            return f"denied in source: {' '.join(sorted(group))}"
    return None


def foreign(claim: Facts, basis: Basis) -> bool:
    """Whether claim and passages are written in different scripts, so that words cannot be compared."""
    return _mostly_cjk(claim.text) != _mostly_cjk(basis.text)


def _mostly_cjk(text: str) -> bool:
    return 2 * len(_CJK.findall(text)) > len(_LATIN_WORD.findall(text))


def _words(claim: Facts, basis: Basis, asked: Asked, similar: Similar | None, least: float) -> str | None:
    if similar is not None and max(similar(claim.text, one.text) for one in basis.facts) < least:
        return "too far from source"
    if foreign(claim, basis):
        return _terms(claim, basis, asked, checked=similar is not None)
    passages = [record.words[place] for record, places in basis.places for place in places]
    near = {word for word in claim.words if any(word in words for words in passages)}
    known = near | {w for w in claim.words if w in asked.words or any(w in r.all_words for r in basis.records)}
    total = len(claim.words)
    if total == 0:
        return None if claim.numbers or any(strong(name) for name in claim.names) else "nothing to check"
    enough = len(near) >= IN_PASSAGES * total and len(known) >= IN_SOURCE * total
    return None if enough else f"too few words supported: {len(known)} of {total}"


def _terms(claim: Facts, basis: Basis, asked: Asked, *, checked: bool) -> str | None:
    """In another script: each Latin word must stand in the source or the question, and a number or a Latin word
    of theirs must tie them."""
    words = [word for word in _LATIN_WORD.findall(claim.text) if not _mostly_cjk(basis.text)]
    for word in words:
        held = any(record.index.holds(word) for record in basis.records) or _known(word, claim, basis, asked)
        if not held and not content(word) <= GENERIC:
            return f"name not in source: {word}"
    there = {number for one in basis.facts for number in one.numbers}
    tied = any(stands(number, there) for number in claim.numbers) or any(
        Index(one.text).holds(word) for one in basis.facts for word in words
    )
    return None if tied or checked else "nothing to check it by"
