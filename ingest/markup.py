"""Markup and debris around a text -> the text: HTML, entities, invisible characters, hard-wrapped lines. Pure.

LaTeX and Markdown are left as they are. HTML that means something becomes the Markdown for it, as the text on the
conference's own page was written. Everything here is linear in the length of the text.
"""

import html
import re
import unicodedata
from collections import defaultdict

_TAG = re.compile(
    r"<(/?)((?:jats:)?[A-Za-z][A-Za-z0-9]{0,11})((?:\s++[\w:.-]++\s*+=\s*+(?:\"[^\"<>]*\"|'[^'<>]*'))*+)\s*+(/?)>"
)
_COMMENT = re.compile(r"<!--[^<>]*-->")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_HREF = re.compile(r"""\bhref\s*=\s*["'](https?://[^"'<>\s]+)["']""")
_MARK = {"strong": "**", "b": "**", "bold": "**", "em": "*", "i": "*", "italic": "*", "code": "`", "tt": "`"}
_BLOCK = frozenset("p div section sec title h1 h2 h3 h4 h5 h6 ul ol blockquote table tr".split())
_DROPPED = frozenset("span font u small big sub sup a label abstract td th tbody body html sc monospace".split())
_VOID = {"br": "\n", "hr": "\n\n"}
_WORD_ESCAPE = re.compile(r"<em>x00[01][0-9A-Fa-f]</em>|_x00[01][0-9A-Fa-f]_")
"""A control character as word processors escape it (and as Markdown then makes it slanted)."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]"
    "|(?<![\u0600-\U0010ffff])[\u200c\u200d]"  # joiners shape some scripts and emoji, and do nothing in Latin
)
_TORN = re.compile(r"(?<=[^\W\d_])\x02(?=[^\W\d_])")
"""The hyphen of "cost-effective" as it comes out of some PDFs."""

_LIST_ITEM = re.compile(r"(?:[-*•+]|\(?\d{1,2}[.)]|\|)\s")
_CJK = re.compile("[\u3000-\u303f\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]")


def tidy(text: str) -> str:
    """`text` as its authors meant it: see the module. Tidying twice changes nothing more."""
    if "<" in text or "&" in text:
        text = _marked_down(text)
    text = _TORN.sub("-", text) if "\x02" in text else text
    text = _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\x85", "\n"))
    text = text.replace("\u2028", "\n").replace("\u2029", "\n\n").replace("\f", "\n").replace("\v", "\n")
    if "\n" in text:
        text = unwrapped(text)
    return unicodedata.normalize("NFC", text).strip()


def line(text: str) -> str:
    """`tidy`, on one line: for titles and names."""
    return " ".join(tidy(text).split())


def _marked_down(text: str) -> str:
    """HTML to Markdown and entities to characters, again where they were escaped more than once."""
    for _ in range(4):
        before = text
        text = _ENTITY.sub(lambda m: html.unescape(m[0]), _untagged(text))
        if text == before:
            break
    return text


def _untagged(text: str) -> str:
    """Known tags that open and close; what is written `<think>` or `a<b` stays."""
    if "<" not in text:
        return text
    text = _COMMENT.sub("", _WORD_ESCAPE.sub("", text))
    tags = list(_TAG.finditer(text))
    pieces, at, partner = [], 0, _pairs(tags)
    for n, tag in enumerate(tags):
        name = _name(tag)
        if name in _VOID:
            said = _VOID[name]
        elif n not in partner:
            continue
        else:
            said = _said(name, tag, tags[partner[n]], text)
        pieces += [text[at : tag.start()], said]
        at = tag.end()
    return "".join((*pieces, text[at:])) if pieces else text


def _name(tag: re.Match[str]) -> str:
    return tag[2].casefold().removeprefix("jats:")


def _pairs(tags: list[re.Match[str]]) -> dict[int, int]:
    """Index of a tag -> index of the one it goes with."""
    open_: defaultdict[str, list[int]] = defaultdict(list)
    partner = {}
    for n, tag in enumerate(tags):
        name = _name(tag)
        if name not in _MARK and name not in _BLOCK and name not in _DROPPED and name != "li":
            continue
        if not tag[1]:
            open_[name].append(n)
        elif open_[name]:
            first = open_[name].pop()
            partner[first], partner[n] = n, first
    return partner


def _said(name: str, tag: re.Match[str], other: re.Match[str], text: str) -> str:
    """What stands in the place of a tag."""
    closes = bool(tag[1])
    if name in _MARK:
        return _MARK[name]
    if name in _BLOCK:
        return "\n\n"
    if name == "li":
        return "\n" if closes else "\n- "
    if name == "sup":
        inside = _between(other, tag, text) if closes else _between(tag, other, text)
        raised = re.fullmatch(r"[-+−]?[\d,.*]{1,8}", inside) is not None  # 10<sup>-5</sup> is not 10-5
        return ("}" if closes else "^{") if raised else ""
    if name == "a" and (link := _HREF.search((other if closes else tag)[3])):
        inside = _between(other, tag, text) if closes else _between(tag, other, text)
        if inside.strip() not in ("", link[1]):
            return f"]({link[1]})" if closes else "["
    return ""


def _between(first: re.Match[str], last: re.Match[str], text: str) -> str:
    return text[first.end() : min(last.start(), first.end() + 300)]


def unwrapped(text: str) -> str:
    """Lines of one paragraph joined; blank lines and the items of a list stay apart."""
    paragraphs = re.split(r"\n[^\S\n]*+(?:\n[^\S\n]*+)+", text.strip())
    return "\n\n".join(filter(None, map(_joined, paragraphs)))


def _joined(paragraph: str) -> str:
    lines = [line_.strip() for line_ in paragraph.split("\n")]
    out = lines[:1]
    for line_ in lines[1:]:
        last = out[-1][-1:]
        if _LIST_ITEM.match(line_):
            out.append("\n" + line_)
        elif _CJK.match(last) and _CJK.match(line_[:1]):
            out.append(line_)
        elif last == "-" and out[-1][-2:-1].isalpha() and line_[:1].islower():
            out.append(line_)  # "pre-\ntraining": whether the hyphen is the word's own cannot be known
        else:
            out.append(" " + line_)
    return "".join(out).strip()
