"""The many spellings of a venue -> one name, the year, and what else the name told (track or decision). Pure.

What a question says ("NIPS 2017") is read by `rag.text.venue_and_year`, which this stands on.
"""

import re
from typing import NamedTuple

from rag.text import venue_and_year

NAMES = {
    "NeurIPS": r"neurips|nips|(?:advances|conference) (?:in|on) neural information processing systems"
    r"|neural information processing systems",
    "ICML": r"icml|(?:international )?conference on machine learning",
    "ICLR": r"iclr|(?:international )?conference on learning representations",
    "AISTATS": r"aistats|(?:international )?conference on artificial intelligence and statistics",
    "COLT": r"colt|(?:annual )?conference on learning theory",
    "UAI": r"uai|(?:conference on )?uncertainty in artificial intelligence",
    "CoRL": r"corl|conference on robot learning",
    "ACML": r"acml|asian conference on machine learning",
    "COLM": r"colm|conference on language modeling",
    "ALT": r"alt|(?:international conference on )?algorithmic learning theory",
    "TMLR": r"tmlr|transactions on machine learning research",
    "JMLR": r"jmlr|journal of machine learning research",
    "arXiv": r"arxiv(?:\.org)?|arxiv e-prints|arxiv preprint|corr",
    "ACL": r"acl|annual meeting of the association for computational linguistics",
    "EMNLP": r"emnlp|(?:conference on )?empirical methods in natural language processing",
    "NAACL": r"naacl",
    "CVPR": r"cvpr|(?:ieee ?/?(?:cvf)? ?)?conference on computer vision and pattern recognition",
    "ICCV": r"iccv|(?:ieee ?/?(?:cvf)? ?)?international conference on computer vision",
    "ECCV": r"eccv|european conference on computer vision",
    "AAAI": r"aaai(?: conference on artificial intelligence)?",
    "KDD": r"kdd|(?:acm )?sigkdd",
    "MLSys": r"mlsys|conference on machine learning and systems",
}
_BEFORE = (
    r"(?:(?:the )?proceedings of (?:the )?|in:? )?(?:the )?"
    r"(?:(?:\d{1,3}(?:st|nd|rd|th)|(?:twenty|thirty|forty|fifty|sixty)?[ -]?[a-z]{3,11}(?:st|nd|rd|th)) )?"
    r"(?:annual |international |acm |ieee )*"
)
_VENUE = {
    name: re.compile(rf"{_BEFORE}(?:{spelling})(?:\.cc)?(?=$|[\s/,(:'’-])[\s,(:'’/-]*", re.I)
    for name, spelling in NAMES.items()
}
_YEAR = re.compile(r"\(?((?:19|20)\d\d)\)?(?!\d)[\s,:)/-]*|(?<=['’])(\d\d)(?=$|\s)[\s,:)-]*")
_TRACK = re.compile(
    r"(?:conference[ /]*)?(regular|oral|poster|spotlight(?: poster)?|notable[- ]top[- ]\d+%|long|short|main(?: track)?"
    r"|accept(?:ed)?(?: *\([\w ]+\))?|withdrawn(?: submission)?|(?:desk )?rejected(?: submission)?|submission"
    r"|(?:datasets and benchmarks|position(?: paper)?)(?: track)?(?: \w+)?)?(?:conference)?",
    re.I,
)


class Venue(NamedTuple):
    name: str | None
    year: int | None
    told: str | None
    """What stood after the year: "oral", "regular", "Withdrawn Submission"."""


def canonical(said: str | None, year: int | None) -> Venue:
    """A venue that is not known keeps its own name; a workshop at a conference is not that conference."""
    if said is None:
        return Venue(None, year, None)
    tidy = " ".join(said.split())
    found = _known(tidy) if len(tidy) <= 200 else None
    name, named, told = found or (*venue_and_year(tidy), None)
    if named is not None and year is not None and named != year:
        return Venue(tidy, year, None)  # two years: the venue keeps its own in its name
    return Venue(name, year if year is not None else named, told)


def _known(tidy: str) -> tuple[str, int | None, str | None] | None:
    for name, spelling in _VENUE.items():
        begun = spelling.match(tidy)
        if begun is None:
            continue
        dated = _YEAR.match(tidy, begun.end())
        told = _TRACK.fullmatch(tidy, dated.end() if dated else begun.end())
        volume = re.fullmatch(r"(?:\d{1,3}|abs/[\d.]+|\(\w+\)|\d{4}\.\d+.*)?", tidy[begun.end() :].strip(" )"))
        if told is None and (volume is None or dated):
            continue
        year = (int(dated[1]) if dated[1] else 2000 + int(dated[2])) if dated and told else None
        return name, year, (told[1] or None) if told else None
    return None
