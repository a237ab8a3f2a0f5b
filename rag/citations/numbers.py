"""The numbers in a sentence, one way whatever the typography: "1,000" = "1k", "38 percent" = "38%", "three" = "3"."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

_SPELT = {
    word: str(number)
    for number, word in enumerate(
        "three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split(),
        3,
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000", "dozen": "12"}
_SPELT_CJK = dict(zip("三四五六七八九十", range(3, 11), strict=True))
_SCALE = {"k": 3, "K": 3, "M": 6, "B": 9, "T": 12, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SCALE |= {"千": 3, "万": 4, "萬": 4, "百万": 6, "亿": 8, "億": 8, "十亿": 9, "천": 3, "만": 4, "억": 8}
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?P<value>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s?(?P<scale>[kKMBT](?![A-Za-z0-9_])|thousand|million|billion|trillion|百万|十亿|[千万萬亿億천만억]))?"
    r"(?:\s?-?(?P<percent>%|percent\w*|per cent|퍼센트|个百分点)"
    r"|\s?-?(?P<times>[x×](?![A-Za-z0-9_])|times\b|fold\b|倍|배))?"
    r"(?![A-Za-z0-9_]|\.\d)"
)
_RANGE = re.compile(r"(?<![\d.,])(\d[\d.,]*)\s?%?\s?(?:-{1,2}|to|and|or|~|至|到|或|和)\s?(?=\d)")
_PERCENT_OF = re.compile(r"百分之\s?(\d+(?:\.\d+)?)")
_COUNTED_CJK = re.compile(r"([三四五六七八九十])(?=([种種个個项項类類倍大组組]))")


@dataclass(frozen=True)
class Number:
    """`unit` is "%", "x" or "" (none, or one that is a word of the sentence)."""

    value: str
    unit: str

    def __str__(self) -> str:
        return self.value + self.unit


def numbers(text: str) -> frozenset[Number]:
    """In digits, or spelt from three up ("one" and "two" say too little). The first of a range has the unit of
    the second: "30-55%"."""
    text = _PERCENT_OF.sub(r"\1%", unicodedata.normalize("NFKC", text))
    found = [_number(match[0], match) for match in _NUMBER.finditer(text)]
    for match in _RANGE.finditer(text):
        second = _NUMBER.match(text, match.end())
        if second and (second["percent"] or second["times"]):
            first = _number(match[1], second)
            found = [number for number in found if number != Number(first.value, "")] + [first]
    found += [Number(_SPELT[word], "") for word in re.findall(r"[a-z]+", text.lower()) if word in _SPELT]
    found += [Number(str(_SPELT_CJK[one]), "x" if of == "倍" else "") for one, of in _COUNTED_CJK.findall(text)]
    return frozenset(found)


def _number(written: str, units: re.Match[str]) -> Number:
    digits = re.match(r"[\d.,]*\d", written)
    value = digits[0].replace(",", "") if digits else "0"
    value = value if value.count(".") < 2 else value.split(".")[0]
    scale = units["scale"] if units[0].startswith(written) else None
    amount = f"{Decimal(value).scaleb(_SCALE.get(scale or '', 0)):f}" if len(value) < 40 else value
    amount = amount.rstrip("0").rstrip(".") if "." in amount else amount
    return Number(amount.lstrip("0") or "0", "%" if units["percent"] else "x" if units["times"] else "")


def is_number(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word))


def stands(number: Number, among: Iterable[Number]) -> bool:
    """Whether it is among these: a percentage only as a percentage; "2x" may be written "2"."""
    return any(
        number.value == other.value and (number.unit == other.unit or {number.unit, other.unit} == {"", "x"})
        for other in among
    )
