"""TeX as bibliographies write it -> characters: accents and the braces that only keep capitals. Pure.

Formulas and other macros stay as they are.
"""

import re
from functools import cache, lru_cache

from pylatexenc.latex2text import LatexNodes2Text

_ACCENT = re.compile(
    r"\{\\[`'^\"~=.uvHtcdbrk]\s?\{?\\?[A-Za-z]\}?\}|\\[`'^\"~=.]\s?(?:\{\\?[A-Za-z]\}|\\[ij](?![A-Za-z])|[A-Za-z])"
    r"|\\[uvHtcdbrk](?:\{\\?[A-Za-z]\}|\s[A-Za-z](?![A-Za-z]))"
    r"|\{\\(?:ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j)\s?(?:\{\})?\}|\\(?:ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j)(?:\{\}|(?![A-Za-z])\s?)"
)
_MATH = re.compile(r"(\$[^$]{1,500}\$)")
_GROUP = re.compile(r"(?<![\\}\]A-Za-z^_])\{([^{}\\]*)\}|(?<=[A-Za-z])\{([A-Za-z])\}(?=[A-Za-z-])")


@cache
def _reader() -> LatexNodes2Text:
    return LatexNodes2Text(strict_latex_spaces=False)


@lru_cache(maxsize=4096)
def _character(source: str) -> str:
    try:
        return str(_reader().latex_to_text(source)).strip() or source
    except Exception:  # pylatexenc raises many kinds; then the source is what there is
        return source


def accents(text: str) -> str:
    r"""``Cl{\'e}ment`` and ``Cl\'ement`` -> ``Clément``, outside formulas."""
    if "\\" not in text:
        return text
    parts = _MATH.split(text)
    return "".join(part if n % 2 else _ACCENT.sub(lambda m: _character(m[0]), part) for n, part in enumerate(parts))


def named(text: str) -> str:
    """A title or a name as it is read: accents, and no braces that only keep capitals."""
    text = accents(text)
    if "{" not in text:
        return text.replace(r"\&", "&").replace("~", " ") if "$" not in text else text
    parts = _MATH.split(text)
    for n in range(0, len(parts), 2):
        for _ in range(3):  # {{A Title}} in double braces
            if "{" not in parts[n]:
                break
            parts[n] = _GROUP.sub(lambda m: m[1] if m[1] is not None else m[2], parts[n])
        parts[n] = parts[n].replace(r"\&", "&").replace("~", " ")
    return "".join(parts)
