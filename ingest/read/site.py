"""Addresses of the sister conferences -> venue, year and an id that is not another conference's. Pure."""

import re
from typing import Any

HOSTS = {"icml.cc": "ICML", "neurips.cc": "NeurIPS", "nips.cc": "NeurIPS", "iclr.cc": "ICLR", "mlsys.org": "MLSys",
         "aistats.org": "AISTATS", "cvpr.thecvf.com": "CVPR", "iccv.thecvf.com": "ICCV",
         "eccv.ecva.net": "ECCV"}  # fmt: skip
_VIRTUAL = re.compile(r"https?://(?:www\.)?([\w.]+)/{1,2}virtual/((?:19|20)\d\d)/([\w-]+)/(\d+)", re.I)
_GROUP = re.compile(r"\b([A-Za-z-]{3,12})\.cc/((?:19|20)\d\d)/([A-Za-z_]+)")


def page(url: Any) -> tuple[str, int, str] | None:
    """(venue, year, number) of a page of a virtual site."""
    found = _VIRTUAL.match(url) if isinstance(url, str) else None
    if found is None or found[1].casefold() not in HOSTS:
        return None
    return HOSTS[found[1].casefold()], int(found[2]), found[4]


def tidy(url: Any) -> Any:
    """`https://ICML.cc//virtual/...` is `https://icml.cc/virtual/...`."""
    if not isinstance(url, str):
        return url
    return re.sub(r"^(https?://[^/]+)/+", lambda m: m[1].casefold() + "/", url)


def group(name: Any) -> tuple[str, int, str] | None:
    """(venue, year, track) of an OpenReview group such as `ICML.cc/2026/Conference`."""
    found = _GROUP.search(name) if isinstance(name, str) else None
    return (found[1], int(found[2]), found[3]) if found else None


def numbered(id_: Any, venue: Any, year: Any) -> Any:
    """A bare number is an id within one conference and year only: `68773` -> `icml2026-68773`."""
    if isinstance(id_, (int, str)) and str(id_).isdigit() and isinstance(venue, str) and year:
        return f"{venue.casefold()}{year}-{id_}"
    return id_
