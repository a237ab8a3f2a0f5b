"""A run against a baseline: fails when a metric is worse by more than its margin, or a hard limit breaks.

The limits stand in `gate.toml` beside the baseline, else in LIMITS:

    [margins]            # how much worse than the baseline a metric may be; "*" for those not named
    "*" = 0.03
    "hit@1" = 0.02
    [floors]             # never below, whatever the baseline was
    citation_validity = 1.0
    [ceilings]           # never above
    false_refusals = 0.2

A name may have a group before it: ``"kind:chinese/hit@3" = 0.05``. Groups not named are not gated: a kind
of a small set moves by a question.
"""

import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from evals import cases as sets
from evals.lines import explain, text_of
from evals.metrics import LOWER_IS_BETTER, METRICS
from evals.saved import read_json
from rag.errors import InputError, NotFound, UsageError
from rag.types import Frozen

TINY = 1e-9
READ = ("set", "mode", "depth", "missing", "errors", "groups")
"""What a gate reads of scores.json."""


class Limits(Frozen):
    margins: dict[str, float] = Field(default_factory=lambda: {"*": 0.03})
    floors: dict[str, float] = Field(default_factory=lambda: {"citation_validity": 1.0})
    ceilings: dict[str, float] = Field(default_factory=dict)


LIMITS = Limits()


class Check(Frozen):
    """One line of the gate. `value` None: the run scored no question by it."""

    name: str
    baseline: float | None
    value: float | None
    allowed: str
    passed: bool
    reason: str = ""


class Verdict(Frozen):
    baseline: str
    run: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)


def gate(baseline: Path, run: Path, limits: Limits | None = None) -> Verdict:
    """Raises NotFound, InputError, UsageError where the two cannot be held against each other."""
    before, after = scores(baseline), scores(run)
    for name in ("set", "mode", "depth"):
        if before[name] != after[name]:
            raise UsageError(
                f"{run} has another {name} ({after[name]}) than the baseline {baseline} ({before[name]}); run the same "
                "set in the same way, or make the baseline anew"
            )
    limits = limits or limits_of(baseline)
    checks = [_complete(after), *_margins(before, after, limits), *_hard(before, after, limits)]
    return Verdict(baseline=baseline.name, run=run.name, checks=tuple(checks))


def scores(folder: Path) -> dict[str, Any]:
    """Figures of a run's folder, or of a scores.json that stands alone. Raises NotFound, InputError."""
    path = folder / "scores.json" if folder.is_dir() else folder
    if not path.is_file():
        raise NotFound(f"{folder} has no scores.json; `confab eval score {folder}` makes it from a run")
    if (path.parent / "cases.jsonl").is_file():
        sets.read(path.parent / "cases.jsonl")  # figures of a run that lost its questions are figures of nothing
    found = read_json(path)
    if lost := [name for name in READ if name not in found]:
        raise InputError(f"{path} has no {', '.join(lost)}; `confab eval score {folder}` makes it anew from the run")
    return found


def limits_of(baseline: Path) -> Limits:
    """The limits beside the baseline. Raises InputError where they name no metric."""
    path = (baseline if baseline.is_dir() else baseline.parent) / "gate.toml"
    if not path.is_file():
        return LIMITS
    try:
        limits = Limits(**tomllib.loads(text_of(path)))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise InputError(f"{path} cannot be read: {explain(error)}") from None
    for name in (*limits.margins, *limits.floors, *limits.ceilings):
        if name != "*" and name.rpartition("/")[2] not in METRICS:
            raise InputError(f"{path} names {name!r}, which is no metric; there are {', '.join(METRICS)}")
    return limits


def _complete(after: Mapping[str, Any]) -> Check:
    lost = after["missing"] + after["errors"]
    reason = f"{after['missing']} questions without an outcome, {after['errors']} with an error" if lost else ""
    return Check(name="outcomes", baseline=0, value=lost, allowed="0 missing", passed=not lost, reason=reason)


def _figure(scored: Mapping[str, Any], name: str) -> float | None:
    group, _, metric = name.rpartition("/")
    found = scored["groups"].get(group or "all", {}).get("metrics", {}).get(metric, {})
    value = found.get("value")
    return None if value is None else float(value)


def _margins(before: Mapping[str, Any], after: Mapping[str, Any], limits: Limits) -> Iterator[Check]:
    named = [name for name in limits.margins if name != "*"]
    every = list(METRICS) if "*" in limits.margins else []
    for name in dict.fromkeys([*every, *named]):
        old, new = _figure(before, name), _figure(after, name)
        if old is None:
            continue
        margin = limits.margins.get(name, limits.margins.get("*", 0.0))
        sign = -1 if name.rpartition("/")[2] in LOWER_IS_BETTER else 1
        edge = old - sign * margin
        passed = new is not None and sign * (new - edge) >= -TINY
        allowed = f"{'at most' if sign < 0 else 'at least'} {edge:.3f} (baseline {old:.3f}, margin {margin:.3f})"
        yield Check(name=name, baseline=old, value=new, allowed=allowed, passed=passed, reason=_why(new, old, passed))


def _hard(before: Mapping[str, Any], after: Mapping[str, Any], limits: Limits) -> Iterator[Check]:
    for kind, edges, sign in (("floor", limits.floors, 1), ("ceiling", limits.ceilings, -1)):
        for name, edge in edges.items():
            new = _figure(after, name)
            if new is None and _figure(before, name) is None:
                continue  # not of this kind of run
            passed = new is not None and sign * (new - edge) >= -TINY
            allowed = f"{'at least' if sign > 0 else 'at most'} {edge:.3f} ({kind})"
            old, reason = _figure(before, name), _why(new, edge, passed)
            yield Check(name=f"{name} {kind}", baseline=old, value=new, allowed=allowed, passed=passed, reason=reason)


def _why(new: float | None, old: float, passed: bool) -> str:
    if passed:
        return ""
    return "the run scored no question by it" if new is None else f"{new:.3f} is {new - old:+.3f} from {old:.3f}"


def markdown(verdict: Verdict) -> str:
    head = "passes" if verdict.passed else f"FAILS in {len(verdict.failures)} of {len(verdict.checks)} checks"
    lines = [f"{verdict.run} {head} against {verdict.baseline}", "", "| check | baseline | run | allowed | |"]
    lines.append("| --- | ---: | ---: | --- | --- |")
    for check in sorted(verdict.checks, key=lambda check: check.passed):
        told = "ok" if check.passed else f"FAIL: {check.reason}"
        lines.append(f"| {check.name} | {_shown(check.baseline)} | {_shown(check.value)} | {check.allowed} | {told} |")
    return "\n".join(lines) + "\n"


def _shown(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"


def junit(verdict: Verdict) -> str:
    """The verdict in the form that CI servers read."""
    failures = str(len(verdict.failures))
    suite = ET.Element(
        "testsuite", name="confab eval gate", tests=str(len(verdict.checks)), failures=failures, errors="0", skipped="0"
    )
    for check in verdict.checks:
        case = ET.SubElement(suite, "testcase", classname=f"gate.{verdict.baseline}", name=check.name)
        if not check.passed:
            failure = ET.SubElement(case, "failure", message=check.reason)
            failure.text = f"value {_shown(check.value)}, allowed {check.allowed}"
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"
