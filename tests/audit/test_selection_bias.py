"""Signs that seen combinations were chosen by their answer: found where they were, and hardly ever where not."""

import numpy as np
import pytest

import recombine
from recombine.numerics.additive_fit import design_matrix
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.selection_bias import _PENALTY, _Told, selection_sign

SIZES = (8, 8)
GRID = np.indices(SIZES).reshape(2, -1).T


def table(seen: np.ndarray, answers: np.ndarray) -> dict[str, list]:
    """A row for each answer (c, r) of each seen combination."""
    cells, rows = np.flatnonzero(seen), answers.shape[1]
    codes = np.repeat(GRID[cells], rows, axis=0)
    return {"a": codes[:, 0].tolist(), "b": codes[:, 1].tolist(), "y": answers[cells].ravel().tolist()}


def sign_of(seen: np.ndarray, answers: np.ndarray):
    support = recombine.read(table(seen, answers), factors=["a", "b"], target="y")
    return selection_sign(support, determinacy(support))


def effects(rng: np.random.Generator, size: float = 1.0) -> np.ndarray:
    return rng.normal(0, size, SIZES[0])[GRID[:, 0]] + rng.normal(0, size, SIZES[1])[GRID[:, 1]]


def labels(rng: np.random.Generator, logit: np.ndarray, rows: int = 4) -> np.ndarray:
    return np.where(rng.random((len(logit), rows)) < 1 / (1 + np.exp(-logit[:, None])), "yes", "no")


def test_the_margin_of_each_is_that_of_a_fit_without_it() -> None:
    rng = np.random.default_rng(0)
    seen = rng.random(len(GRID)) < 0.6
    codes, values = GRID[seen], rng.dirichlet([1, 1, 1], int(seen.sum()))
    told = _Told.of(codes, GRID[~seen], SIZES, values)
    found = told.margin_lead(told.answers[:, :, None])[0]
    design, middle = design_matrix(codes, SIZES, constant=True), values.mean(axis=0)
    penalty = _PENALTY * np.eye(design.shape[1])
    penalty[0, 0] = 0

    def fit(rows: np.ndarray) -> np.ndarray:
        return np.linalg.solve(design[rows].T @ design[rows] + penalty, design[rows].T @ (values - middle)[rows])

    every = np.arange(len(codes))
    left_out = np.stack([design[i] @ fit(np.delete(every, i)) for i in every])
    said = np.concatenate([left_out, design_matrix(GRID[~seen], SIZES, constant=True) @ fit(every)]) + middle
    ordered = np.sort(said, axis=1)
    whole = np.concatenate([design, design_matrix(GRID[~seen], SIZES, constant=True)])
    is_seen = np.arange(len(GRID)) < len(codes)
    beyond = is_seen - whole @ np.linalg.lstsq(whole, is_seen.astype(float), rcond=None)[0]
    assert np.isclose(found, beyond @ (ordered[:, -1] - ordered[:, -2]))


def test_common_values_of_one_factor_that_are_high_are_no_choice_by_the_answer() -> None:
    """The more common a value of `a`, the higher; `b` moves the answer as much, and is seen alike."""
    rng = np.random.default_rng(0)
    truth = 2.0 * GRID[:, 0] + 2.0 * rng.permutation(8)[GRID[:, 1]]
    seen = np.isin((GRID[:, 0] + GRID[:, 1]) % 8, [0, 1, 2]) | (rng.random(len(GRID)) < (GRID[:, 0] - 2) / 8)
    assert sign_of(seen, truth[:, None]) is None


def test_high_answers_that_were_kept_are_found() -> None:
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = effects(rng) + rng.normal(0, 0.5, len(GRID))
        seen = rng.random(len(GRID)) < 1 / (1 + np.exp(-2 * (truth - np.median(truth))))
        found.append(sign_of(seen, truth[:, None]))
    assert sum(one is not None and (one.of, one.towards) == ("answer", "higher") for one in found) >= 6


def test_clear_cut_answers_that_were_kept_are_found() -> None:
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        logit = effects(rng, 2.0)
        easy = np.abs(logit) > np.median(np.abs(logit))
        found.append(sign_of(rng.random(len(GRID)) < np.where(easy, 0.9, 0.25), labels(rng, logit)))
    assert sum(one is not None and one.of == "margin" for one in found) >= 4


@pytest.mark.parametrize("kind", ["number", "label"])
def test_values_that_are_seen_unequally_often_are_no_sign(kind: str) -> None:
    """Four in a hundred false alarms are allowed: more than three in 25 happen in one of fifty such tests."""
    alarms = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        often = np.linspace(0.35, 1, 8)
        seen = rng.random(len(GRID)) < (often[GRID[:, 0]] * often[GRID[:, 1]]) ** 0.5
        truth = effects(rng, 1.5)
        answers = labels(rng, truth) if kind == "label" else truth[:, None] + rng.normal(0, 0.5, (len(GRID), 2))
        alarms += sign_of(seen, answers) is not None
    assert alarms <= 3


def test_a_sign_is_said_in_the_verdict_and_holds_the_grade_down() -> None:
    truth = GRID.sum(axis=1) + 0.01 * np.random.default_rng(0).normal(size=len(GRID))
    chosen = table(truth > 5, truth[:, None])
    audit = recombine.audit(chosen, factors=["a", "b"], target="y")
    assert audit.grade not in ("sound", "failing")
    assert (
        "Careful: y is higher in the seen combinations than it would be in the unseen ones (p = 0.005)."
        in audit.verdict
    )
    rehearsal = recombine.rehearse(chosen, "additive", factors=["a", "b"], target="y", rounds=2)
    assert rehearsal.expected.abstains or "Careful: y is higher" in rehearsal.verdict
    assert rehearsal.grade != "sound"


def test_where_there_is_no_sign_the_assumption_is_a_reason() -> None:
    rng = np.random.default_rng(3)
    truth = effects(rng)[:, None]
    random = table(rng.random(len(GRID)) < 0.7, truth)
    for result in (
        recombine.audit(random, factors=["a", "b"], target="y"),
        recombine.rehearse(random, "additive", factors=["a", "b"], target="y", rounds=2),
    ):
        assert "Careful" not in result.verdict
        assert any(
            "assumed that the seen combinations were not chosen by their answer" in one for one in result.reasons
        )
