"""What questions ask that abstracts seldom hold: the hardware, the cost, who wrote it. Pure.

Such a question is near its paper by every measure of similarity, and the paper does not answer it. So the text
itself is asked: where a question wants one of these and no candidate paper so much as speaks of it, nothing is found.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rag.text import plain
from rag.types import Paper


class Attribute(NamedTuple):
    """`asked` finds the wish in a question, `held` its fulfilment in an abstract (None: no abstract holds it)."""

    name: str
    asked: re.Pattern[str]
    held: re.Pattern[str] | None


def _made(name: str, asked: str, held: str | None) -> Attribute:
    return Attribute(name, re.compile(asked, re.I), re.compile(held, re.I) if held else None)


_PEOPLE = r"(?:raters?|annotators?|participants?|students?|volunteers?|subjects?|crowd-?workers?|experts?|physicians?)"
_COUNT = r"(?:\d[\d,.]*\+?|two|three|four|five|six|seven|eight|nine|ten|dozens?|hundreds?|thousands?)"

ATTRIBUTES = (
    _made(
        "obedience",  # no question to papers: an order to the house
        r"^\s*(?:please\s+)?(?:say that|ignore (?:all|any|previous|the|your)|pretend|act as|repeat after"
        r"|(?:print|reveal) your)\b"
        r"|^\s*(?:请)?(?:忽略|假装|扮演|复述)",
        None,
    ),
    _made(
        "authors",
        r"\bwho (?:are|is|were|was) the (?:first |senior |last )?authors?\b|\bwho (?:wrote|authored)\b"
        r"|\bname the authors\b|作者是谁|谁写|的作者",
        None,
    ),
    _made(
        "affiliation",
        r"\baffiliat|\b(?:which|what) (?:university|universities|institutions?|compan(?:y|ies)|labs?)\b"
        r"|哪所大学|哪个机构|所属单位",
        r"\buniversit|\binstitut|\blaborator",
    ),
    _made(
        "hardware",
        r"\b[GT]PUs?\b|\bgraphics cards?\b|\b(?:what|which) hardware\b|显卡|显存",
        r"\b[GT]PUs?\b|\b(?:A100|H100|V100|RTX|L40)\b|\bgraphics card|\bhardware",
    ),
    _made(
        "training time",
        r"\bhow long (?:did|does|was) (?:it take to )?(?:the )?(?:pre-?)?train(?:ing)?\b"
        r"|\b(?:pre-?)?training (?:time|hours?|days?)\b|训练了多久|训练时间",
        r"\b(?:hours?|days?|minutes?|weeks?)\b",
    ),
    _made(
        "hyperparameters",
        r"\blearning[- ]rates?\b|\bbatch size\b|\bweight decay\b|\bhyper-?parameters?\b|\brandom seeds?\b"
        r"|学习率|批大小|超参数",
        r"\blearning[- ]rates?\b|\bbatch size|\bweight decay|\bhyper-?parameters?|\bseeds?\b",
    ),
    _made(
        "money",
        r"\bhow much (?:money\b|(?:did|does) .{0,80}\bcost\s*\??$)|\bin (?:dollars|euros)\b|多少钱",
        r"[$€£]\s?\d|\bdollars?\b|\bUSD\b|\bcosts?\b|\bexpens|\bcheap",
    ),
    _made(
        "reviews",
        r"\breview(?:er)?s?'? (?:scores?|ratings?)\b|\bwhat did (?:the )?reviewers\b|评审分|审稿",
        r"\breview",
    ),
    _made(
        "the conference",
        r"\b(?:which|what) (?:city|country)\b.*\bconference\b|\bconference (?:is |be )?held\b"
        r"|\b(?:where|when) (?:is|was|will) (?:the conference|ICML|NeurIPS|ICLR)\b|会议.{0,8}(?:举办|召开|举行)",
        None,
    ),
    _made("licence", r"\blicen[cs]ed?\b|许可证|开源协议", r"\blicen[cs]"),
    _made("times cited", r"\bhow (?:often|many times)\b.{0,80}\bcited\b|\bcitation counts?\b|被引", None),
    _made(
        "people",
        rf"\bhow many (?:[\w-]+ ){{0,2}}{_PEOPLE}\b|多少(?:名|位)(?:学生|标注|参与|专家)",
        rf"\b{_COUNT}\s+(?:[\w-]+\s+){{0,3}}{_PEOPLE}\b",
    ),
)


def missing(question: str, papers: Sequence[Paper], *, authors_shown: bool = False) -> str | None:
    """The name of what a question asks for and none of `papers` speaks of; None where nothing is missing.

    `authors_shown`: the answerer sees the records' authors, so that who wrote a paper can be answered.
    """
    for attribute in ATTRIBUTES:
        if attribute.asked.search(question) and not any(_holds(paper, attribute, authors_shown) for paper in papers):
            return attribute.name
    return None


def _holds(paper: Paper, attribute: Attribute, authors_shown: bool) -> bool:
    if attribute.name == "authors" and authors_shown and paper.authors:
        return True
    return bool(attribute.held and attribute.held.search(plain(paper.abstract)))
