"""Nearness to any question, measured once."""

import numpy as np

from rag import hubness


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[range]]:
    """Random questions, passages and sentences (three a passage, none for the last passage)."""
    rng = np.random.default_rng(seed)
    asked = unit(rng.normal(size=(len(hubness.questions()), 16)) + 1)
    vectors = unit(rng.normal(size=(5, 16)))
    sentences = unit(rng.normal(size=(12, 16)))
    return asked, vectors, sentences, [*(range(3 * i, 3 * i + 3) for i in range(4)), range(12, 12)]


def test_it_is_the_mean_cosine_of_each_passage_and_of_its_best_sentence() -> None:
    asked, vectors, sentences, owners = made()
    hubs, _ = hubness.measure(asked, vectors, sentences, owners)
    latin = asked[: len(hubness.QUESTIONS["latin"].splitlines())]
    assert hubs.shape == (5, 2, 2)
    assert np.allclose(hubs[:, 0, 0], (vectors @ latin.T).mean(axis=1), atol=1e-6)
    assert np.allclose(hubs[1, 0, 1], (sentences[3:6] @ latin.T).max(axis=0).mean(), atol=1e-6)
    assert hubs[4, 0, 1] == 0


def test_a_passage_in_the_middle_of_all_questions_is_the_greatest_hub() -> None:
    asked, vectors, sentences, owners = made()
    vectors[2] = unit(asked.mean(axis=0, keepdims=True))[0]
    hubs, _ = hubness.measure(asked, vectors, sentences, owners)
    assert hubs[:, 0, 0].argmax() == 2


def test_strangers_are_measured_by_the_best_that_each_reaches() -> None:
    asked, vectors, sentences, owners = made()
    hubs, strangers = hubness.measure(asked, vectors, sentences, owners)
    first = len(hubness.QUESTIONS["latin"].splitlines()) + len(hubness.QUESTIONS["cjk"].splitlines())
    strange = asked[first : first + len(hubness.STRANGERS["latin"].splitlines())]
    spoken = np.stack([(sentences[rows.start : rows.stop] @ strange.T).max(axis=0, initial=-1) for rows in owners])
    spoken[4] = 0
    best = (vectors @ strange.T + spoken - hubness.WEIGHT * hubs[:, 0].sum(axis=1, keepdims=True)).max(axis=0)
    assert np.allclose(strangers["latin"], (best.mean(), best.std()), atol=1e-5)


def test_chunks_do_not_show() -> None:
    asked, vectors, sentences, owners = made()
    many = [np.tile(vectors, (900, 1)), sentences, owners * 900]
    hubs, strangers = hubness.measure(asked, *many)  # more passages than one chunk holds
    few, told = hubness.measure(asked, vectors, sentences, owners)
    assert len(many[0]) > 2 * hubness.CHUNK
    assert np.allclose(hubs[-5:], few, atol=1e-6)
    assert np.allclose(strangers["cjk"], told["cjk"], atol=1e-6)
