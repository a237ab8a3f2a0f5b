"""Models that think aloud begin with <think> ... </think>: no part of an answer."""

START, STOP = "<think>", "</think>"


class Thoughts:
    """Lets an answer through without the thoughts at its head, however the stream is cut."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = self._begun = False

    def push(self, piece: str) -> str:
        if self._begun:
            return piece
        self._held += piece
        head = self._held.lstrip()
        if not self._thinking and START.startswith(head[: len(START)]):
            self._thinking = head.startswith(START)
            if not self._thinking:
                return ""
        if not self._thinking:
            return self._begin(self._held)
        _, stop, rest = self._held.partition(STOP)
        if stop:
            return self._begin(rest)
        self._held = self._held[-len(STOP) :]
        return ""

    def end(self) -> str:
        """What was held back; thoughts that never end are let go."""
        return "" if self._thinking or self._begun else self._begin(self._held)

    def _begin(self, text: str) -> str:
        self._begun, self._thinking, self._held = True, False, ""
        return text
