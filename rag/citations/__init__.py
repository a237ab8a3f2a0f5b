"""Marks in a model's words -> checked Citations. Pure and deterministic.

    checker = Checker(prompts.sources(hits), question, refusal=prompts.REFUSAL)
    for piece in stream: for said in checker.feed(piece): ...   # said.text, said.citations (the new ones)
    for said in checker.finish(whole=True): ...
    checker.text, checker.citations, checker.dropped, checker.drop_reasons, checker.refused

`splitter` cuts a stream into sentences with their `marks`, `quotes` finds words in abstracts, `claims` (with `numbers`
and `names`) reads what a sentence says, `record` chooses the passages it rests on, `support` compares them, `riders`
looks at the parts of a sentence, `brackets` for forged marks.
"""

from rag.citations.checker import Checked, Checker, Dropped
from rag.citations.quotes import Numbers, cite

__all__ = ["Checked", "Checker", "Dropped", "Numbers", "cite"]
