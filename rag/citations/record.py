"""A retrieved source made ready for checks, and the choice of the passages that a sentence rests on."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from rag.citations.brackets import groups
from rag.citations.claims import Facts, content, facts
from rag.citations.names import Index, address, addresses, signs, strong
from rag.citations.numbers import stands
from rag.citations.quotes import LONGEST_SENTENCES, Abstract, plain
from rag.types import Source

ROOT = 5  # letters by which two forms of a word are known ("reduc", "reduct")


class Words:
    """Stems to compare with: two are one where they differ in their last letter or in how far they go on."""

    def __init__(self, stems: Iterable[str]) -> None:
        self.stems = frozenset(stems)
        long = [stem for stem in self.stems if len(stem) >= ROOT]
        self._starts = frozenset(stem[:n] for stem in long for n in range(ROOT, len(stem) + 1))
        self._roots = frozenset(stem[: max(ROOT, len(stem) - 1)] for stem in long)

    def __contains__(self, stem: object) -> bool:
        if not isinstance(stem, str):
            return False
        if stem in self.stems:
            return True
        return len(stem) >= ROOT and (
            stem[: max(ROOT, len(stem) - 1)] in self._starts
            or any(stem[:n] in self._roots for n in range(ROOT, len(stem) + 1))
        )

    def among(self, stems: Iterable[str]) -> frozenset[str]:
        return frozenset(stem for stem in stems if stem in self)


class Record:
    """One source: its abstract by sentences, and what stands at its head (title, authors, venue, year)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.paper = source.paper
        self.abstract = Abstract(source.paper.abstract)

    @cached_property
    def facts(self) -> list[Facts]:
        text = self.abstract.text
        return [facts(text[span.start : span.end]) for span in self.abstract.sentences]

    @cached_property
    def words(self) -> list[Words]:
        return [Words(one.words) for one in self.facts]

    @cached_property
    def indexes(self) -> list[Index]:
        return [Index(one.text) for one in self.facts]

    @cached_property
    def head(self) -> str:
        paper = self.paper
        return " . ".join(str(part) for part in (paper.title, *paper.authors, paper.venue, paper.year) if part)

    @cached_property
    def index(self) -> Index:
        return Index(f"{plain(self.abstract.text)} . {plain(self.head)}")

    @cached_property
    def all_words(self) -> Words:
        return Words(content(self.abstract.text) | content(self.head))

    @cached_property
    def brackets(self) -> frozenset[str]:
        return groups(self.abstract.text)

    @cached_property
    def signs(self) -> frozenset[str]:
        return signs(plain(self.abstract.text) + plain(self.head))

    @cached_property
    def addresses(self) -> frozenset[str]:
        """Those in the abstract, whatever its TeX escapes, and the record's own."""
        text = self.abstract.text
        found = [*addresses(text), *addresses(text.replace("\\", "")), *addresses(plain(text))]
        own = self.paper.url or ""
        return frozenset(found + ([address(own)] if own.startswith(("http://", "https://")) else []))

    def quoted(self, words: str) -> list[int]:
        """The places of the sentences that a quote stands in; none where it stands nowhere."""
        span = self.abstract.find(words) if words else None
        return self.abstract.around(span) if span else []

    def weigh(self, claim: Facts, place: int) -> float:
        """How much of a claim a sentence holds: a number counts three words, a name two."""
        one, index = self.facts[place], self.indexes[place]
        found = sum(3.0 for number in claim.numbers if stands(number, one.numbers))
        found += sum(2.0 for name in claim.names if strong(name) and index.holds(name))
        return found + len(self.words[place].among(claim.words))

    def choose(self, claim: Facts, quoted: Sequence[int]) -> list[int]:
        """The places of the sentences that a claim rests on: those quoted, or the best; and, up to three, what
        holds numbers or words that these lack."""
        weights = {place: self.weigh(claim, place) for place in range(len(self.facts))}
        ranked = sorted((place for place in weights if weights[place] > 0), key=lambda place: (-weights[place], place))
        chosen = [place for place in quoted if place in weights]
        if len(chosen) > LONGEST_SENTENCES:
            chosen = [place for place in ranked if place in chosen][:LONGEST_SENTENCES] or chosen[:LONGEST_SENTENCES]
        chosen = chosen or ranked[:1]
        for place in ranked:
            if len(chosen) < LONGEST_SENTENCES and place not in chosen and self._adds(claim, chosen, place):
                chosen.append(place)
        return chosen

    def _adds(self, claim: Facts, chosen: list[int], place: int) -> bool:
        lacking = [n for n in claim.numbers if not any(stands(n, self.facts[c].numbers) for c in chosen)]
        if any(stands(number, self.facts[place].numbers) for number in lacking):
            return True
        words = {word for word in claim.words if not any(word in self.words[c] for c in chosen)}
        return len(words) * 2 > len(claim.words) and len(self.words[place].among(words)) > 1
