"""Intervals and tests for figures over few questions. Every figure is a ratio of sums, resampled by cluster.

A metric gives each question a numerator and a denominator (0 where it does not count for that metric), so
that means, precisions and recalls are all ``sum(numerators) / sum(denominators)``. Arrays are float64
[clusters, metrics]. Questions about the same paper stay together (cluster bootstrap: Davison and Hinkley,
Bootstrap Methods and their Application, 3.8).
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Figures = NDArray[np.float64]

RESAMPLES = 2000
PERMUTATIONS = 9999
CONFIDENCE = 0.95
ALPHA = 0.05
POWER = 0.8


def by_cluster(values: Figures, clusters: Sequence[str]) -> Figures:
    """Sums of `values` [questions, metrics] over each cluster, clusters in order of first use."""
    place = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros((len(place), values.shape[1]))
    np.add.at(sums, [place[name] for name in clusters], values)
    return sums


def ratios(numerators: Figures, denominators: Figures) -> Figures:
    """Element by element; NaN where nothing counts (never shown: see `intervals`)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominators > 0, numerators / np.where(denominators > 0, denominators, 1), np.nan)


def intervals(numerators: Figures, denominators: Figures, seed: int = 0) -> list[tuple[float, float] | None]:
    """95 % percentile bootstrap interval of each ratio; None where fewer than two clusters count."""

    def statistic(drawn: NDArray[np.int64], axis: int = -1) -> Figures:
        return np.moveaxis(ratios(numerators[drawn].sum(axis=axis - 1), denominators[drawn].sum(axis=axis - 1)), -1, 0)

    spread = _spread(len(numerators), statistic, seed)
    counts = (denominators > 0).sum(axis=0)
    return [_percentiles(draws) if enough >= 2 else None for draws, enough in zip(spread, counts, strict=True)]


def _spread(clusters: int, statistic: Any, seed: int) -> Figures:
    """Bootstrap distribution [metrics, resamples] over cluster indices."""
    from scipy import stats

    if clusters < 2:
        return np.atleast_2d(statistic(np.arange(clusters)[None, :]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a metric that no draw counts for: told by None, not by a warning
        result = stats.bootstrap(
            (np.arange(clusters),), statistic, n_resamples=RESAMPLES, batch=100, vectorized=True,
            confidence_level=CONFIDENCE, method="percentile", rng=np.random.default_rng(seed),
        )  # fmt: skip
    return np.atleast_2d(result.bootstrap_distribution)


def _percentiles(draws: Figures) -> tuple[float, float] | None:
    real = draws[~np.isnan(draws)]
    if not len(real):
        return None
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(real, [tail, 100 - tail])
    return float(low), float(high)


class Difference(NamedTuple):
    """B minus A. `p` is two-sided and not yet corrected; `error` the bootstrap standard error.

    `moved` clusters differ between the runs, by `step` questions' worth on average (1 where none does).
    """

    value: float
    low: float
    high: float
    p: float
    error: float
    moved: int
    step: float


def difference(a: tuple[Figures, Figures], b: tuple[Figures, Figures], seed: int = 0) -> Difference | None:
    """The difference of one metric between two runs over the same clusters; arrays [clusters].

    `a` and `b` are (numerators, denominators). None where a run has nothing that counts.
    """
    sums = np.stack([np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])], axis=-1)
    clusters = len(a[0])
    first, second = np.arange(clusters), np.arange(clusters) + clusters
    if not a[1].sum() or not b[1].sum():
        return None

    def of(x: NDArray[np.int64], y: NDArray[np.int64], axis: int = -1) -> Figures:
        one, two = sums[x].sum(axis=axis - 1), sums[y].sum(axis=axis - 1)
        return ratios(two[..., 0], two[..., 1]) - ratios(one[..., 0], one[..., 1])

    value = float(of(first[None, :], second[None, :])[0])
    draws = _spread(clusters, lambda drawn, axis=-1: of(drawn, drawn + clusters, axis), seed)[0]
    draws = draws[~np.isnan(draws)]
    low, high = _percentiles(draws) or (value, value)
    moves = np.abs(sums[:clusters, 0] - sums[clusters:, 0])[np.any(sums[:clusters] != sums[clusters:], axis=-1)]
    step = float(np.clip(moves.mean(), 0.01, 1.0)) if len(moves) else 1.0
    p = _permuted(of, first, second, seed) if len(moves) else 1.0
    return Difference(value, low, high, p, float(draws.std()) if len(draws) else 0.0, len(moves), step)


def _permuted(statistic: Any, first: NDArray[np.int64], second: NDArray[np.int64], seed: int) -> float:
    """Two-sided paired permutation test: under no difference, which run a cluster's outcome came from is a coin."""
    from scipy import stats

    def defined(x: NDArray[np.int64], y: NDArray[np.int64], axis: int = -1) -> Any:
        return np.nan_to_num(statistic(x, y, axis), nan=0.0)  # a draw in which nothing counts shows no difference

    result = stats.permutation_test(
        (first, second), defined, permutation_type="samples", vectorized=True, batch=500,
        n_resamples=PERMUTATIONS, alternative="two-sided", rng=np.random.default_rng(seed),
    )  # fmt: skip
    return float(result.pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979), in the order given."""
    order = sorted(range(len(p)), key=lambda index: p[index])
    adjusted, highest = [0.0] * len(p), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = highest
    return adjusted


def detectable(found: Difference, questions: int) -> float:
    """Smallest difference that the set would have shown, taken alone: 80 % power at the 5 % level.

    By the normal approximation from the standard error seen. But a paired permutation test over m clusters
    that all move one way cannot say less than p = 2^(1-m): so never under that many clusters, each moving as
    far as clusters moved here (by one question where none did), of the `questions` that count.
    """
    from scipy import stats

    by_spread = (stats.norm.ppf(1 - ALPHA / 2) + stats.norm.ppf(POWER)) * found.error
    fewest = math.ceil(1 - math.log2(ALPHA))
    return float(min(1.0, max(by_spread, fewest * found.step / max(questions, 1))))
