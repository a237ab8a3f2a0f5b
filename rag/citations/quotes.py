"""Where the words of a quote stand in an abstract: found however they are typeset, returned as they are written."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.text import sentences
from rag.types import Citation, Paper

SHORTEST = 3  # letters and digits of a quote that says where it stands
LONGEST_SENTENCES = 3

_GREEK = (
    "alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ "
    "pi π rho ρ sigma σ tau τ phi φ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ "
    "Phi Φ Psi Ψ Omega Ω ell ℓ"
)
_SIGNS = (
    "times × cdot · pm ± leq ≤ le ≤ geq ≥ ge ≥ neq ≠ approx ≈ sim ∼ sqrt √ infty ∞ sum ∑ prod ∏ int ∫ nabla ∇ "
    "partial ∂ in ∈ subset ⊂ to → rightarrow → ll ≪ gg ≫ propto ∝ equiv ≡"
)
_NAMES = f"{_GREEK} {_SIGNS}".split()
MACROS = dict(zip(_NAMES[::2], _NAMES[1::2], strict=True))
_KEPT = frozenset("log ln exp min max sup inf sin cos tan poly arg det dim lim".split())
_TOKEN = re.compile(r"\\([a-zA-Z]+)\*?|\\(.)|[\s\S]")
_ALIKE = str.maketrans(
    {**dict.fromkeys("‐‑‒–—―−", "-"), **dict.fromkeys("“”„«»＂", '"'), **dict.fromkeys("‘’‚′`", "'")}
)


def readable(text: str) -> list[tuple[str, int]]:
    """(character, its offset in `text`) of what a reader sees: LaTeX macros as signs or nothing, Markdown and TeX
    marks gone, one kind of dash and of quotation mark, compatibility forms made plain."""
    out: list[tuple[str, int]] = []
    for token in _TOKEN.finditer(text):
        name, escaped = token[1], token[2]
        if name:
            seen = MACROS.get(name) or (name if name in _KEPT else " " if name in ("quad", "qquad") else "")
        elif escaped:
            seen = escaped if escaped in "%&#_$" else " " if escaped in ",;: " else ""
        else:
            seen = "" if token[0] in "${}^_*`" else " " if token[0] == "~" else token[0].translate(_ALIKE)
        at = token.start()
        out += [(char, at) for char in (seen if seen.isascii() else unicodedata.normalize("NFKC", seen))]
    return out


def plain(text: str) -> str:
    """The characters of `readable`."""
    return "".join(char for char, _ in readable(text))


def squash(text: str) -> str:
    """Letters, digits and signs only, without case and accents: what two ways to typeset a text share."""
    return "".join(_squashed(char) for char, _ in readable(text))


def _squashed(char: str) -> str:
    if char.isascii():
        return char.lower() if char.isalnum() or char in "+<=>|~" else ""
    letters = unicodedata.normalize("NFKD", char).casefold()
    return "".join(c for c in letters if c.isalnum() or unicodedata.category(c) == "Sm")


@dataclass(frozen=True)
class Span:
    start: int
    end: int


class Abstract:
    """An abstract made ready for looking quotes up."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def sentences(self) -> list[Span]:
        return [Span(start, end) for start, end in sentences(self.text)]

    @cached_property
    def _squashed(self) -> tuple[str, list[int]]:
        chars = [(one, offset) for char, offset in readable(self.text) for one in _squashed(char)]
        return "".join(one for one, _ in chars), [offset for _, offset in chars]

    def find(self, quote: str) -> Span | None:
        """Where `quote` stands, or None. A quote with an ellipsis spans its parts, in order."""
        parts = [squash(part) for part in re.split(r"\.\.\.+|…|\[\.\.\.\]", quote)]
        parts = [part for part in parts if part]
        offsets = self._squashed[1]
        start = end = -1
        at = 0
        for part in parts:
            at = self._word(part, at)
            if at < 0:
                return None
            start = offsets[at] if start < 0 else start
            at += len(part)
            end = offsets[at - 1] + 1
        return Span(start, end) if sum(map(len, parts)) >= SHORTEST else None

    def _word(self, part: str, after: int) -> int:
        """Where `part` stands from `after` on as whole words, or -1."""
        text, offsets = self._squashed
        at = text.find(part, after)
        while at >= 0:
            end = at + len(part)
            starts = at == 0 or offsets[at] - offsets[at - 1] != 1 or not _runs_on(text[at - 1], text[at])
            ends = end == len(text) or offsets[end] - offsets[end - 1] != 1 or not _runs_on(text[end - 1], text[end])
            if starts and ends:
                return at
            at = text.find(part, at + 1)
        return -1

    def around(self, span: Span) -> list[int]:
        """The places of the sentences that `span` touches."""
        ends = [one.end for one in self.sentences]
        first = bisect_left(ends, span.start + 1)
        return [n for n in range(first, len(ends)) if self.sentences[n].start < span.end]

    def joined(self, places: Sequence[int]) -> list[Span]:
        """Sentences by place as spans, neighbours made one."""
        spans: list[Span] = []
        last = -2
        for place in sorted(set(places)):
            one = self.sentences[place]
            if place == last + 1:
                spans[-1] = Span(spans[-1].start, one.end)
            else:
                spans.append(one)
            last = place
        return spans


def _runs_on(left: str, right: str) -> bool:
    """Whether two characters side by side are inside one word (scripts without blanks have no inside)."""
    return left.isalnum() and right.isalnum() and left < "\u2e80" and right < "\u2e80"


def cite(number: int, paper: Paper, start: int, end: int) -> Citation:
    """The citation of ``paper.abstract[start:end]``, without white space at its ends."""
    quote = paper.abstract[start:end]
    start += len(quote) - len(quote.lstrip())
    quote = quote.strip()
    return Citation(number=number, paper=paper.ref, quote=quote, start=start, end=start + len(quote))


class Numbers:
    """Gives numbers 1..n in order of first use: one a quoted passage; one inside an earlier one shares it."""

    def __init__(self) -> None:
        self.citations: list[Citation] = []

    def of(self, paper: Paper, start: int, end: int) -> tuple[int, Citation | None]:
        """(number, the citation where it is new)."""
        for known in self.citations:
            if known.paper.id == paper.id and known.start <= start and end <= known.end:
                return known.number, None
        new = cite(len(self.citations) + 1, paper, start, end)
        self.citations.append(new)
        return new.number, new
