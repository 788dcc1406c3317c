"""Digit pairs: the label table of the settings, pictures, rules, and what an audit and the theory say of them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine import Salience
from recombine.base.errors import SettingError
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.digit_images import DigitPairs, Pictures, Pool, augmented, glyphs, pool
from recombine_lab.tasks.exposure import Own

FACTORS = ["first", "second"]


def task(**settings: object) -> DigitPairs:
    return DigitPairs(**({"images": "synthetic"} | settings))  # type: ignore[arg-type]


def cells(made: DigitPairs, name: str = "train") -> np.ndarray:
    parts = Own().parts(made, seed=0)
    source = parts.train if name == "train" else parts.tests[name]
    return source.every().numpy()


# The label table of setting A


def test_setting_a_shows_20_of_100_pairs() -> None:
    seen, unseen = cells(task()), cells(task(), "unseen")
    assert {tuple(pair) for pair in seen} == {(y, (y + d) % 10) for y in range(10) for d in (0, 1)}
    assert {tuple(pair) for pair in unseen} == {(y, (y + d) % 10) for y in range(10) for d in range(2, 10)}
    assert (len(seen), len(unseen)) == (20, 80)


def test_setting_a_as_an_audit_sees_it() -> None:
    """One cycle through all 20 values: every pair is determined, the far ones weakly."""
    support = recombine.read(task().table(cells(task())), factors=FACTORS, target="target")
    audit = recombine.audit(support)
    assert (audit.counts.seen, audit.counts.determined, audit.counts.novel) == (20, 80, 0)
    assert (audit.island_count, audit.rank) == (1, 19)
    unseen = cells(task(), "unseen")
    found = audit.explain(task().table(unseen).select(FACTORS))["leverage"].to_pylist()
    d = (unseen[:, 1] - unseen[:, 0]) % 10
    assert found == pytest.approx((2 * d - 1) * (21 - 2 * d) / 20)
    told = {part.factors: part for part in audit.redundancy.parts}
    assert told[("second",)].bits == pytest.approx(2.321928, abs=1e-6)
    assert audit.redundancy.entropy_bits == pytest.approx(3.321928, abs=1e-6)
    assert told[("second",)].score == pytest.approx(0.5)


def best_from_second(seen: np.ndarray) -> np.ndarray:
    """For each second digit the label that most often goes with it."""
    return np.array([np.bincount(seen[seen[:, 1] == second, 0], minlength=10).argmax() for second in range(10)])


def test_the_best_guess_from_the_second_digit_alone() -> None:
    seen, unseen = cells(task()), cells(task(), "unseen")
    rule = best_from_second(seen)
    assert (rule[seen[:, 1]] == seen[:, 0]).mean() == 0.5
    assert (rule[unseen[:, 1]] == unseen[:, 0]).mean() == 0.0
    everything = cells(task(setting="B"))
    assert (best_from_second(everything)[everything[:, 1]] == everything[:, 0]).mean() == 0.1


def test_in_b_all_80_test_pairs_were_seen() -> None:
    made = task(setting="B")
    train = {tuple(pair) for pair in cells(made)}
    asked = [tuple(pair) for pair in cells(made, "test")]
    assert len(asked) == 80
    assert sum(pair in train for pair in asked) == 80
    assert "unseen" not in Own().parts(made, seed=0).tests
    assert sorted(asked) == sorted(map(tuple, cells(task(), "unseen")))


def test_b_noise_shows_the_pairs_of_a_with_noise_in_the_second_place() -> None:
    made = task(setting="B-noise")
    train = Own().parts(made, seed=0).train
    np.testing.assert_array_equal(made.combinations(train.every()), cells(task()))
    noisy, plain = (kind.render(kind.own_parts(seed=0).train.every(), seed=4, part="train") for kind in (made, task()))
    assert torch.equal(noisy.inputs[..., :28], plain.inputs[..., :28])
    assert not torch.equal(noisy.inputs[..., 28:], plain.inputs[..., 28:])
    assert noisy.inputs[..., 28:].mean().item() == pytest.approx(0.5, abs=0.02)
    # the tests are not noisy
    asked = made.render(Own().parts(made, seed=0).tests["unseen"].every(), seed=4, part="test")
    assert asked.inputs[..., 28:].mean().item() < 0.3
    # but for the one that asks as training shows
    noised = made.render(Own().parts(made, seed=0).tests["noised"].every(), seed=4, part="test")
    assert noised.inputs[..., 28:].mean().item() == pytest.approx(0.5, abs=0.02)


def test_a_digit_left_out_is_noise() -> None:
    batch = task().tensors([[3, -1]] * 50, seed=0)
    assert batch.targets.tolist() == [3] * 50
    assert batch.inputs[..., 28:].mean().item() == pytest.approx(0.5, abs=0.02)
    with pytest.raises(SettingError, match="its answer depends on that digit"):
        task(rule="sum").tensors([[3, -1]], seed=0)


def wrong_by(salience: str | Salience) -> int:
    """Of the 80 unseen pairs, how many a kernel of this salience gets wrong."""
    made = task()
    seen, unseen = (
        recombine.read(made.table(cells(made, name)), factors=FACTORS, target="target", target_kind="label")
        for name in ("seen", "unseen")
    )
    known = recombine.predict(seen, salience=salience, truth=unseen).known
    assert known is not None
    assert known.known == 80
    return known.wrong


@pytest.mark.parametrize("salience", ["order:0,0.05,0.9", "order:0,0.3,0.4", "order:0,0.49,0.02"])
def test_equal_salience_is_right_on_all_80(salience: str) -> None:
    assert wrong_by(salience) == 0


@pytest.mark.parametrize(
    ("weights", "wrong"),
    [((0.3, 0.3, 0.4), 0), ((0.2, 0.3, 0.5), 0), ((0.1, 0.3, 0.6), 80), ((0.05, 0.45, 0.5), 80)],
)
def test_the_more_salient_second_digit_takes_over(weights: tuple[float, float, float], wrong: int) -> None:
    sets = [("first",), ("second",), ("first", "second")]
    assert wrong_by(Salience.by_set(dict(zip(sets, weights, strict=True)), names=FACTORS)) == wrong


# Rules


@given(st.integers(0, 9), st.integers(0, 9), st.none() | st.integers(0, 50))
def test_rules(first: int, second: int, mapping: int | None) -> None:
    values = range(10) if mapping is None else task(mapping=mapping)._values
    expected = {
        "first": first,
        "second": second,
        "same": int(first == second),
        "sum": values[first] + values[second],
        "sum_mod_10": (values[first] + values[second]) % 10,
    }
    for rule, answer in expected.items():
        made = task(rule=rule, mapping=mapping)
        batch = made.tensors([[first, second]], seed=0)
        assert batch.targets.flatten().tolist() == [answer]
        assert batch.inputs.shape[1:] == made.shapes.inputs
        assert made.truth(np.array([[first, second]])).tolist() == [answer]
        if made.shapes.kind == "classes":
            assert 0 <= answer < made.shapes.outputs[0]
            assert batch.targets.dtype == torch.int64
        else:
            assert batch.targets.shape[1:] == made.shapes.outputs
            assert batch.targets.dtype == torch.float32


def test_a_mapping_exchanges_all_ten_values() -> None:
    found = [task(mapping=seed)._values.tolist() for seed in range(3)]
    assert all(sorted(values) == list(range(10)) for values in found)
    assert found[0] != found[1]


# Pictures


@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        ({"layout": "side"}, (1, 28, 56)),
        ({"layout": "side", "distance": 4}, (1, 28, 60)),
        ({"layout": "channels"}, (2, 28, 28)),
        ({"layout": "channels", "distance": 20}, (2, 28, 48)),
        ({"layout": "channels", "distance": 5, "canvas": 48}, (2, 28, 48)),
        ({"images": "cifar10", "layout": "side"}, (3, 32, 64)),
        ({"images": "cifar10", "layout": "channels"}, (6, 32, 32)),
    ],
)
def test_shapes(settings: dict, shape: tuple[int, int, int]) -> None:
    assert task(**settings).shapes.inputs == shape


@pytest.mark.parametrize("distance", [0, 5, 10, 15, 20])
def test_images_stand_apart_by_their_distance(distance: int) -> None:
    """Brute force: the two images, drawn by hand into their places."""
    made = task(layout="channels", distance=distance, canvas=48)
    codes = [[3, 4], [7, 7], [0, 9]]
    together = made.tensors(codes, seed=5).inputs
    apart = task(layout="channels").tensors(codes, seed=5).inputs
    expected = torch.zeros(3, 2, 28, 48)
    left = (20 - distance) // 2
    for example in range(3):
        expected[example, 0, :, left : left + 28] = apart[example, 0]
        expected[example, 1, :, left + distance : left + distance + 28] = apart[example, 1]
    assert torch.equal(together, expected)


def test_side_by_side_is_the_same_two_images() -> None:
    codes = [[3, 4], [7, 7]]
    beside = task().tensors(codes, seed=5).inputs
    apart = task(layout="channels").tensors(codes, seed=5).inputs
    assert torch.equal(beside[:, 0, :, :28], apart[:, 0])
    assert torch.equal(beside[:, 0, :, 28:], apart[:, 1])


def test_same_seed_same_picture() -> None:
    codes = task().every()
    first, again, other = (task().tensors(codes, seed=seed).inputs for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.dtype == torch.float32
    assert 0 <= first.min() < first.max() <= 1


def test_chance_is_left_as_it_was() -> None:
    before = torch.get_rng_state()
    task().tensors(task().every(), seed=1)
    assert torch.equal(before, torch.get_rng_state())


def test_each_image_is_of_its_class_and_all_of_them_are_drawn() -> None:
    labels = np.array([2, 0, 1, 0, 2, 2, 9])
    images = np.arange(7, dtype=np.uint8).reshape(7, 1, 1, 1)
    made = Pool.of(images, labels)
    rng = torch.Generator().manual_seed(0)
    drawn = made.draw(torch.tensor([0, 1, 2] * 200), rng=rng).reshape(-1, 3)
    assert [set(column.tolist()) for column in drawn.T] == [{1, 3}, {2}, {0, 4, 5}]
    few = made.first(1)
    drawn = few.draw(torch.tensor([0, 1, 2] * 50), rng=rng).reshape(-1, 3)
    assert [set(column.tolist()) for column in drawn.T] == [{1}, {2}, {0}]


def test_training_and_test_images_are_different_ones() -> None:
    train, test = (set(map(bytes, glyphs(part)[0].reshape(-1, 784))) for part in ("train", "test"))
    assert not train & test


def test_per_class_limits_training_alone() -> None:
    assert pool("synthetic", "train", 3).counts.tolist() == [3] * 10
    assert pool("synthetic", "test", 3).counts.tolist() == [50] * 10


def test_the_ten_glyphs_can_be_told_apart() -> None:
    """A nearest-mean rule learnt on the training part is right on nearly all of the test part."""
    images, labels = glyphs("train")
    means = np.stack([images[labels == c].mean(axis=0).ravel() for c in range(10)])
    asked, truth = glyphs("test")
    distances = ((asked.reshape(len(asked), 1, -1).astype(float) - means) ** 2).sum(axis=2)
    assert (distances.argmin(axis=1) == truth).mean() > 0.8


def test_augmented_images_are_shifted_or_mirrored_ones() -> None:
    images = torch.zeros(500, 1, 9, 11)
    images[:, 0, 4, 4] = 1.0
    moved = augmented(images, rng=torch.Generator().manual_seed(0))
    places = moved.flatten(1).argmax(1)
    assert torch.equal(moved.sum((1, 2, 3)), torch.ones(500))
    assert (places // 11).unique().tolist() == list(range(9))
    # a shift alone ends at column 8; only a mirror reaches 9 and 10
    assert (places % 11).unique().tolist() == list(range(11))
    plain = task(augment=False).tensors([[1, 2]] * 4, seed=0)
    assert not torch.equal(task(augment=True).tensors([[1, 2]] * 4, seed=0).inputs, plain.inputs)
    asked = [task(augment=augment).tensors([[1, 2]] * 4, seed=0, part="test").inputs for augment in (False, True)]
    assert torch.equal(*asked)


# Settings


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"images": "mnits"}, "did you mean 'mnist'"),
        ({"layout": "above"}, "layout has no such value"),
        ({"setting": "C"}, "setting has no such value"),
        ({"rule": "summ"}, "did you mean 'sum'"),
        ({"distance": -1}, "it is below 0"),
        ({"per_class": 0}, "it is below 1"),
        ({"canvas": 40}, "write canvas=56 or more"),
        ({"offsets": ()}, "some of the ten offsets are shown"),
        ({"offsets": tuple(range(10))}, "some of the ten offsets are shown"),
    ],
)
def test_settings_that_mean_nothing(settings: dict, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        task(**settings)


def test_a_spec_makes_the_same_task() -> None:
    made = task(rule="sum", offsets=(0, 3), mapping=2)
    assert TASKS.build(TASKS.spec(made)) == made
    with pytest.raises(SettingError, match="did you mean 'layout'"):
        TASKS.build({"name": "digit_pairs", "layuot": "side"})


def test_pictures_of_three_items() -> None:
    assert Pictures(images="synthetic", layout="channels", distance=7).shape(3) == (3, 28, 42)


@pytest.mark.data
def test_mnist_pairs_follow_the_label_table_exactly(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every drawn image is an image of the class that its pair names, from the part that was asked for."""
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    made = DigitPairs()
    train = made.own_parts(seed=0).train
    latents = train.draw(512, seed=3)
    batch = made.render(latents, seed=1, part="train")
    offsets = (latents[:, 1] - latents[:, 0]) % 10
    assert set(offsets.tolist()) == {0, 1}
    assert torch.equal(batch.targets, latents[:, 0])
    source = pool("mnist", "train")
    classes = torch.repeat_interleave(torch.arange(10), source.counts)
    known = dict(zip(map(bytes, source.images.numpy().reshape(-1, 784)), classes.tolist(), strict=True))
    pictures = (batch.inputs * 255).round().byte()
    for side in (0, 1):
        found = [known[bytes(image.numpy().ravel())] for image in pictures[:, 0, :, 28 * side : 28 * (side + 1)]]
        assert found == latents[:, side].tolist()
