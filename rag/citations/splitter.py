"""A stream of a model's words -> sentences with their marks, one character at a time.

Each decision is taken on the character that settles it, so the result cannot depend on how a stream was cut
into pieces.
"""

import re
import unicodedata
from dataclasses import dataclass, field

from rag.citations.marks import DECORATION, KEYS, OPEN, QUOTES, ROUND, Mark, parse
from rag.text import CJK

STOOD = "\x1f"  # no model can write it: `visible` takes it out
KEYS_LONGEST = 60  # characters of a mark without a quote
MARK_LONGEST = 600
SENTENCE_LONGEST = 3000
_WITHIN_KEYS = re.compile(r"[\w\s#^,，、;；&–—.*`-]")
_CJK = re.compile(f"[{CJK}]")
LATIN_END, CJK_END = ".!?…．", "。！？｡"
CLOSERS = "\"'”’»)]*_」』）”"
_STOPS = CLOSERS + LATIN_END + CJK_END + " "
ABBREVIATIONS = frozenset(
    "e.g i.e eg ie et al cf vs etc fig figs eq eqs sec ref refs no nos resp approx w.r.t wrt a.k.a aka i.i.d iid dr mr "
    "ms mrs prof st jr inc ltd dept est vol pp ca viz thm lem prop def alg tab app".split()
)
_MARKER = re.compile(r"(?:[-*•–—+]|\d{1,3}[.)]|[a-z]\))$")


@dataclass
class Draft:
    """A sentence as said: texts and marks in order; `gap` is the white space that came before it.

    `ended`: it has its full stop (or its line has ended); `broken`: a mark in it could not be read.
    """

    parts: list[str | Mark] = field(default_factory=list)
    gap: str = ""
    ended: bool = False
    broken: bool = False

    @property
    def text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str)).strip()

    @property
    def marks(self) -> list[Mark]:
        return [part for part in self.parts if isinstance(part, Mark)]

    @property
    def spoken(self) -> str:
        """The text with STOOD where a mark stood."""
        return "".join(part if isinstance(part, str) else STOOD for part in self.parts)

    @property
    def stopped_after_mark(self) -> bool:
        """Whether its last words are a full stop behind a mark: "... etc [S1]." is at its end."""
        said = [n for n, part in enumerate(self.parts) if isinstance(part, str) and part.strip()][-1:]
        last = self.parts[said[0]] if said and self.ended and isinstance(self.parts[said[0] - 1], Mark) else ""
        return isinstance(last, str) and last != "" and said[0] > 0 and not last.strip(_STOPS)


def visible(text: str) -> str:
    """Without what no reader sees: control, format, private and lone surrogate characters."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs", "Cn"))


class Splitter:
    """Push text, get the sentences that it ended."""

    def __init__(self) -> None:
        self._draft = Draft()
        self._gap = ""
        self._candidate = ""
        self._quoting = False
        self._done: list[Draft] = []

    def push(self, text: str) -> list[Draft]:
        stack = list(reversed(visible(text)))  # what was no mark after all is put back and read again
        while stack:
            char = stack.pop()
            if self._candidate:
                stack += reversed(self._grow(char))
            elif char in OPEN:
                self._candidate, self._quoting = char, False
            elif char.isspace():
                self._gap += char
            else:
                self._say(char)
        done, self._done = self._done, []
        return done

    def end(self) -> list[Draft]:
        """The sentences that were still open."""
        done: list[Draft] = []
        while self._candidate:
            done += self.push(self._give_up())
        self._flush()
        done += self._done
        self._done = []
        return done

    def _grow(self, char: str) -> str:
        """One more character of what may be a mark. Returns text to read again where it is none."""
        self._candidate += char
        opener, content = self._candidate[0], self._candidate[1:-1]
        if char == OPEN[opener] and (not self._quoting or content.rstrip()[-1:] in QUOTES or self._unquoted(content)):
            mark = parse(content, rounded=opener in ROUND)
            if mark is None:
                return self._give_up()
            self._candidate = ""
            self._mark(mark)
            return ""
        if not self._quoting and char in ":：" + QUOTES and KEYS.fullmatch(content.strip(",，=–—-" + DECORATION)):
            self._quoting = opener not in ROUND or content.strip(DECORATION)[:1] in "Ss"
        fits = char != "\n" and (self._quoting or _WITHIN_KEYS.match(char))
        longest = MARK_LONGEST if self._quoting else KEYS_LONGEST
        return "" if fits and len(self._candidate) < longest else self._give_up()

    def _unquoted(self, content: str) -> bool:
        words = re.split("[:：]", content, maxsplit=1)[-1].lstrip()
        return words[:1] not in QUOTES

    def _give_up(self) -> str:
        """No mark: its first character is text and the rest is read again. A quote that never closes ends at
        the first bracket that does."""
        candidate, self._candidate = self._candidate, ""
        closer = OPEN[candidate[0]]
        if self._quoting and closer in candidate:
            content, _, rest = candidate[1:].partition(closer)
            mark = parse(content, rounded=candidate[0] in ROUND)
            if mark is not None:
                self._mark(mark)
                return rest
        self._say(candidate[0])
        self._draft.broken |= self._quoting
        return candidate[1:]

    def _mark(self, mark: Mark) -> None:
        parts = self._draft.parts
        leads = bool(parts) and isinstance(parts[0], Mark)  # "[S1] First. [S2] Second."
        own = bool(self._draft.marks) or not self._draft.text
        if ("\n" in self._gap and own) or (self._draft.ended and leads):
            self._flush()
        if self._gap and self._draft.parts:
            self._append(" ")
            self._gap = ""
        self._open()
        self._draft.parts.append(mark)

    def _say(self, char: str) -> None:
        if self._draft.parts and self._ends_before(char):
            self._flush()
        if self._draft.parts and self._gap:
            self._append(" ")
            self._gap = ""
        self._open()
        self._append(char)
        self._draft.ended = char in LATIN_END + CJK_END or (self._draft.ended and char in CLOSERS)

    def _ends_before(self, char: str) -> bool:
        draft = self._draft
        if not self._gap and not draft.ended:
            return False
        text, after_mark = draft.text, isinstance(draft.parts[-1], Mark)
        if draft.stopped_after_mark and char not in _STOPS:
            return True
        if len(text) > SENTENCE_LONGEST:
            draft.broken = True
            return True
        if self._gap.count("\n") > 1:
            return True
        if "\n" in self._gap:
            return draft.ended or not char.islower() or bool(_MARKER.match(char))
        if not draft.ended:
            return False
        if text.rstrip(CLOSERS)[-1:] in CJK_END:
            return char not in CLOSERS and char not in CJK_END
        if not (self._gap or after_mark) or char.islower() or _MARKER.match(text):
            return False
        last = text.rstrip(CLOSERS + ".").split()[-1:] or [""]
        word = last[0].lstrip("([\"'“").casefold()
        stopped = text.rstrip(CLOSERS)[-1:] == "." and not (_CJK.match(char) and not _CJK.search(text))
        return not stopped or after_mark or not (word in ABBREVIATIONS or (len(word) == 1 and last[0][-1:].isupper()))

    def _open(self) -> None:
        if not self._draft.parts:
            self._draft.gap += self._gap
            self._gap = ""

    def _append(self, char: str) -> None:
        parts = self._draft.parts
        if parts and isinstance(parts[-1], str):
            parts[-1] += char
        else:
            parts.append(char)

    def _flush(self) -> None:
        draft, self._draft = self._draft, Draft()
        if draft.parts:
            draft.ended |= "\n" in self._gap
            self._done.append(draft)
