"""The toy: what is known of it exactly, checked on its own sets and by exact sums over them."""

import numpy as np
import pytest
import torch

import recombine
from recombine.base.errors import SettingError
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.conjunction_tasks import Toy
from recombine_lab.tasks.exposure import Own, Source

MANY = 200_000


def examples(source: Source, *, n: int = MANY, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    batch = Toy().render(source.draw(n, seed=seed), seed=0, part="train")
    return batch.inputs.double().numpy(), batch.targets.numpy()


def sets(setting: str = "A") -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    parts = Own().parts(TASKS.build({"name": "toy", "setting": setting}), seed=0)
    return examples(parts.train), examples(parts.tests["unseen"], seed=1)


def accuracy(rule: np.ndarray, labels: np.ndarray) -> float:
    return float((rule == labels).mean())


def entropy(shares: np.ndarray) -> float:
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


def joint(inputs: np.ndarray) -> np.ndarray:
    """Shares of the four combinations, y1 by y2."""
    ones = (inputs > 0).astype(int)
    return np.bincount(2 * ones[:, 0] + ones[:, 1], minlength=4).reshape(2, 2) / len(inputs)


def test_training_has_three_combinations_and_the_test_the_fourth() -> None:
    (seen, labels), (unseen, asked) = sets()
    np.testing.assert_allclose(joint(seen), [[1 / 3, 1 / 3], [1 / 3, 0]], atol=0.005)
    assert (unseen > 0).all()
    assert (asked == 1).all()
    assert ((seen[:, 0] > 0) == (labels == 1)).all()


def test_numbers_are_uniform_on_their_side() -> None:
    (seen, labels), _ = sets()
    for y, low in ((0, -1.0), (1, 0.0)):
        assert np.quantile(seen[labels == y, 0] - low, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.01)


def test_information() -> None:
    (seen, _), _ = sets()
    table = joint(seen)
    shares_first, shares_second = table.sum(1), table.sum(0)
    assert entropy(shares_first) == pytest.approx(0.918296, abs=0.004)
    told = entropy(shares_first) + entropy(shares_second) - entropy(table.ravel())
    assert told == pytest.approx(0.251629, abs=0.005)
    exact = np.array([[1, 1], [1, 0]]) / 3
    told = entropy(exact.sum(1)) + entropy(exact.sum(0)) - entropy(exact.ravel())
    assert told == pytest.approx(0.251629, abs=1e-6)
    assert table.max(0).sum() == pytest.approx(2 / 3, abs=0.005), "x2 alone does no better than the majority"


def test_three_rules_that_training_cannot_tell_apart() -> None:
    (seen, labels), (unseen, asked) = sets()
    rules = [
        lambda x: x[:, 0] > 0,
        lambda x: x[:, 0] > np.maximum(0, x[:, 1]),
        lambda x: (x[:, 0] > 0) & (x[:, 1] < 0),
    ]
    assert [accuracy(rule(seen), labels) for rule in rules] == [1, 1, 1]
    assert [accuracy(rule(unseen), asked) for rule in rules] == pytest.approx([1, 0.5, 0], abs=0.005)


def test_first_gradient_of_a_logistic_model() -> None:
    (seen, labels), _ = sets()
    off = 0.5 - labels
    gradient = [(off * seen[:, 0]).mean(), (off * seen[:, 1]).mean(), off.mean()]
    assert gradient == pytest.approx([-1 / 4, 1 / 12, 1 / 6], abs=0.004)


def test_after_one_step() -> None:
    (seen, labels), (unseen, asked) = sets()
    rule = [x[:, 0] > 2 / 3 + x[:, 1] / 3 for x in (seen, unseen)]
    assert accuracy(rule[0], labels) == pytest.approx(5 / 6, abs=0.005)
    assert accuracy(rule[1], asked) == pytest.approx(1 / 6, abs=0.005)


def test_least_squares() -> None:
    (seen, labels), (unseen, asked) = sets()
    design = np.column_stack([seen, np.ones(len(seen))])
    weights = np.linalg.lstsq(design, labels.astype(float), rcond=None)[0]
    assert weights == pytest.approx([24 / 35, -4 / 35, 3 / 7], abs=0.01)
    exact = np.array([24 / 35, -4 / 35])
    assert accuracy(seen @ exact + 3 / 7 > 0.5, labels) == pytest.approx(0.9852, abs=0.002)
    assert accuracy(unseen @ exact + 3 / 7 > 0.5, asked) == pytest.approx(0.8125, abs=0.005)


def test_in_setting_b_the_second_number_tells_nothing() -> None:
    (seen, labels), (unseen, _) = sets("B")
    np.testing.assert_allclose(joint(seen), [[1 / 3, 1 / 3], [1 / 6, 1 / 6]], atol=0.005)
    for y in (0, 1):
        spread = seen[labels == y, 1]
        assert np.quantile(spread, [0.1, 0.5, 0.9]) == pytest.approx([-0.8, 0, 0.8], abs=0.02)
    assert (unseen > 0).all(), "the test is that of A"


def test_as_a_table_the_fourth_is_determined() -> None:
    table = Toy().table(np.array([[0, 0], [0, 1], [1, 0]]))
    audit = recombine.audit(recombine.read(table, factors=["y1", "y2"], target="target"))
    assert (audit.counts.seen, audit.counts.determined, audit.rank) == (3, 1, 3)
    assert audit.explain([(1, 1)])["leverage"].to_pylist() == pytest.approx([3])
    assert Toy().truth(Toy().every()).tolist() == [0, 0, 1, 1]


def test_tensors_follow_their_combination() -> None:
    task = Toy()
    codes = np.tile(task.every(), (500, 1))
    batch = task.tensors(codes, seed=0)
    np.testing.assert_array_equal(batch.inputs.numpy() > 0, codes.astype(bool))
    np.testing.assert_array_equal(batch.targets.numpy(), codes[:, 0])
    assert batch.targets.dtype == torch.int64
    assert torch.equal(batch.inputs, task.tensors(codes, seed=0).inputs)


def test_at_the_very_limit_the_sign_is_still_the_class() -> None:
    below = torch.nextafter(torch.tensor(0.5), torch.tensor(0.0)).item()
    batch = Toy().render(torch.tensor([[0.5, 0.5], [below, below]]), seed=0, part="train")
    assert (batch.inputs > 0).tolist() == [[True, True], [False, False]]
    assert batch.targets.tolist() == [1, 0]


def test_a_setting_that_does_not_exist() -> None:
    with pytest.raises(SettingError, match=r"setting='C'\n.*\n.*setting='A'"):
        Toy(setting="C")  # type: ignore[arg-type]
