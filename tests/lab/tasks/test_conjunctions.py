"""The conjunction tasks: every count of the paper, the codes, and that the theory finds the paper's numbers on them."""

from typing import Any

import numpy as np
import pytest
import torch

import recombine
from recombine.base.errors import RecombineError, SettingError
from recombine.data.support import Support
from recombine.verbs.split.conjunction_holdout import HoldOutConjunctions
from recombine.verbs.split.geometric_holdout import Donut
from recombine.verbs.split.random_holdout import CombinationKFold, HoldOutCombinations
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.conjunction_tasks import (
    Addition,
    ConjunctionTask,
    ContextDependence,
    Invariance,
    PartialExposure,
    TransitiveEquivalence,
    TransitiveOrdering,
)
from recombine_lab.tasks.digit_images import DigitPairs
from recombine_lab.tasks.exposure import HeldOut, Own
from recombine_lab.tasks.table_task import TableTask
from recombine_lab.tasks.task import Task

ALL = [
    Addition(),
    Addition(dispersed=True),
    ContextDependence(),
    TransitiveEquivalence(),
    TransitiveOrdering(),
    Invariance(),
    PartialExposure(),
]


def name_of(task: Task) -> str:
    return type(task).__name__


def sides(task: ConjunctionTask) -> tuple[np.ndarray, np.ndarray]:
    tests = Own().parts(task, seed=0).tests
    return tests["seen"].every().numpy(), tests["unseen"].every().numpy()


@pytest.mark.parametrize(
    ("task", "seen", "unseen"),
    [
        (Addition(anchors=(0,)), 17, 64),
        (Addition(anchors=(-4,)), 17, 64),
        (Addition(anchors=(-4, 4)), 32, 49),
        (Addition(anchors=(-2, 2)), 32, 49),
        (Addition(anchors=(-3, -1, 1, 3)), 56, 25),
        (Addition(dispersed=True, shuffle=7), 18, 63),
        (ContextDependence(k=1), 70, 2),
        (ContextDependence(k=2), 64, 8),
        (ContextDependence(k=3), 54, 18),
        (ContextDependence(k=1, values=2), 6, 2),
        (ContextDependence(k=2, contexts=4, values=4), 48, 16),
        (TransitiveEquivalence(), 12, 4),
        (TransitiveEquivalence(classes=(5, 5)), 36, 64),
        (TransitiveEquivalence(classes=(5, 5), trained=4), 96, 4),
        (TransitiveOrdering(), 12, 30),
        (Invariance(), 2, 2),
        (PartialExposure(), 3, 1),
    ],
)
def test_counts(task: ConjunctionTask, seen: int, unseen: int) -> None:
    assert tuple(map(len, sides(task))) == (seen, unseen)
    assert len(task.every()) == seen + unseen == task.space.size


# Answers, by hand


def test_the_rules_by_hand() -> None:
    values = {"target": "values"}
    assert Addition().truth(np.array([[0, 0], [8, 3], [4, 4]])).tolist() == [-8, 3, 0]
    context = ContextDependence(**values)
    assert context.truth(np.array([[0, 0, 5], [1, 0, 5], [0, 3, 2], [1, 3, 2]])).tolist() == [-1, 1, 1, -1]
    same = TransitiveEquivalence(**values)
    assert same.truth(np.array([[0, 1], [0, 2], [3, 2], [3, 1]])).tolist() == [1, -1, 1, -1]
    order = TransitiveOrdering(**values)
    assert order.truth(np.array([[0, 6], [6, 0], [2, 3]])).tolist() == [1, -1, 1]
    for corner in (Invariance(**values), PartialExposure(**values)):
        assert corner.truth(corner.every()).tolist() == [-1, -1, 1, 1]


@pytest.mark.parametrize("task", ALL[2:], ids=name_of)
def test_classes_are_the_signs(task: ConjunctionTask) -> None:
    signed = type(task)(target="values")  # type: ignore[call-arg]
    codes = task.every()
    classes, signs = task.tensors(codes, seed=0), signed.tensors(codes, seed=0)
    assert task.shapes.outputs == (2,)
    assert (task.shapes.kind, signed.shapes.kind) == ("classes", "values")
    assert torch.equal(classes.targets * 2 - 1, signs.targets[:, 0].long())
    np.testing.assert_array_equal(classes.targets.numpy(), task.truth(codes))


def test_the_left_out_block_of_cd() -> None:
    _, unseen = sides(ContextDependence(k=2))
    assert {tuple(row) for row in unseen.tolist()} == {(c, a, b) for c in (0, 1) for a in (0, 1) for b in (3, 4)}


@pytest.mark.parametrize(("k", "of"), [(3, 54), (2, 64), (1, 70)])
def test_what_context_alone_predicts(k: int, of: int) -> None:
    task = ContextDependence(k=k)
    seen, _ = sides(task)
    labels = task.truth(seen)
    right = sum(np.bincount(labels[seen[:, 0] == context]).max() for context in (0, 1))
    assert (right, len(seen)) == (36, of)


@pytest.mark.parametrize("shuffle", range(5))
def test_dispersed_addition_is_one_cycle_through_all_18_values(shuffle: int) -> None:
    task = Addition(dispersed=True, shuffle=shuffle)
    seen, _ = sides(task)
    assert np.bincount(seen[:, 0]).tolist() == np.bincount(seen[:, 1]).tolist() == [2] * 9
    audit = recombine.audit(read(task, seen))
    assert audit.island_count == 1
    assert audit.rank == 17


def test_a_shuffle_changes_the_rows() -> None:
    first, second = (sides(Addition(dispersed=True, shuffle=seed))[0].tolist() for seed in (1, 2))
    assert first != second


def test_an_even_number_of_values_is_centred_too() -> None:
    task = Addition(values=4, anchors=(-1.5,))
    assert task.space.factors[0].values == (-1.5, -0.5, 0.5, 1.5)
    assert len(sides(task)[0]) == 7


# The two arms meet


def read(task: ConjunctionTask, codes: np.ndarray) -> Support:
    domain = {factor.name: list(factor.values) for factor in task.space.factors}
    return recombine.read(task.table(codes), factors=list(task.space.names), target="target", domain=domain)


def predicted(task: ConjunctionTask, salience: str, **options: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """What the theory says of the unseen combinations, and their truth."""
    seen, unseen = sides(task)
    asked = task.table(unseen).select(list(task.space.names))
    found = recombine.predict(
        read(task, seen), salience=salience, truth=read(task, unseen), combinations=asked, **options
    )
    return found, np.array(found.table["prediction"].to_pylist()), np.array(found.table["truth"].to_pylist())


@pytest.mark.parametrize(
    ("anchors", "slope", "offset"),
    [((0,), 0.743443, 0.0), ((-4,), 0.743443, -1.407804), ((-4, 4), 0.852845, 0.0), ((-2, 2), 0.852845, 0.0)],
)
def test_addition_leaks_as_printed(anchors: tuple[int, ...], slope: float, offset: float) -> None:
    found, _, _ = predicted(Addition(anchors=anchors), "relu:1")
    assert (found.slope.value, found.slope.offset) == pytest.approx((slope, offset), abs=1e-6)


def test_dispersed_addition_at_the_upper_bound_of_salience() -> None:
    _, answers, truth = predicted(Addition(dispersed=True, shuffle=3), "order:0,0.5,0.000000001")
    assert answers == pytest.approx(truth, abs=1e-4)


@pytest.mark.parametrize(("salience", "margin"), [("relu:1", 0.795), ("relu:3", 0.522), ("relu:10", 0.176)])
def test_cd_3_under_squared_loss(salience: str, margin: float) -> None:
    _, answers, truth = predicted(ContextDependence(target="values"), salience)
    assert answers * truth == pytest.approx(margin, abs=1e-3)


@pytest.mark.parametrize(("salience", "wrong"), [("relu:3", 18), ("relu:10", 0)])
def test_cd_3_at_the_hard_margin(salience: str, wrong: int) -> None:
    found, _, _ = predicted(ContextDependence(), salience, fit=recombine.FitSettings(loss="margin"))
    assert (found.known.known, found.known.wrong) == (18, wrong)


@pytest.mark.parametrize(("classes", "trained"), [((2, 2), 1), ((5, 5), 1), ((5, 5), 4)])
def test_no_kernel_says_anything_on_transitive_equivalence(classes: tuple[int, ...], trained: int) -> None:
    task = TransitiveEquivalence(classes=classes, trained=trained, target="values")
    _, answers, _ = predicted(task, "relu:1")
    assert len(answers) == (sum(classes) - len(classes) * trained) ** 2
    assert np.abs(answers).max() < 1e-9


def test_transitive_ordering_is_solved_with_growing_margins() -> None:
    task = TransitiveOrdering(target="values")
    _, answers, truth = predicted(task, "relu:1")
    _, unseen = sides(task)
    distance = np.abs(unseen[:, 1] - unseen[:, 0])
    margins = [float((answers * truth)[distance == apart].mean()) for apart in range(2, 7)]
    assert margins == pytest.approx([0.738, 1.058, 1.410, 1.846, 2.427], abs=1e-3)
    assert (answers * truth > 0).all()


def test_invariance_and_partial_exposure_as_printed() -> None:
    _, answers, truth = predicted(Invariance(target="values"), "order:0,0.3,0.4")
    assert answers * truth == pytest.approx(0.428571, abs=1e-6)
    _, answers, truth = predicted(PartialExposure(target="values"), "order:0,0.3,0.4")
    assert answers * truth == pytest.approx(0.219512, abs=1e-6)


# Codes


@pytest.mark.parametrize("task", ALL, ids=name_of)
def test_one_hot_codes(task: ConjunctionTask) -> None:
    """Brute force: ones written one by one."""
    codes = task.every()
    inputs = task.tensors(codes, seed=0).inputs
    expected = np.zeros((len(codes), sum(task.space.sizes)))
    for row, combination in enumerate(codes):
        for k, value in enumerate(combination):
            expected[row, sum(task.space.sizes[:k]) + value] = 1
    np.testing.assert_array_equal(inputs.numpy(), expected)
    assert inputs.dtype == torch.float32
    assert inputs.shape[1:] == task.shapes.inputs


@pytest.mark.parametrize("task", ALL, ids=name_of)
def test_image_codes(task: ConjunctionTask) -> None:
    """Each factor's channel holds an image of the class that stands for its value."""
    settings = {"code": "images", "images": "synthetic", "per_class": 1}
    pictured = TASKS.build(TASKS.spec(task) | settings)
    pairs = DigitPairs(images="synthetic", layout="channels", per_class=1)
    batch = pictured.tensors(task.every(), seed=0)
    assert batch.inputs.shape[1:] == pictured.shapes.inputs == (len(task.space.factors), 28, 28)
    glyphs = pairs.tensors([[c, c] for c in range(10)], seed=1).inputs[:, 0]
    for k in range(len(task.space.factors)):
        assert torch.equal(batch.inputs[:, k], glyphs[task.every()[:, k]])
    assert torch.equal(batch.targets, task.tensors(task.every(), seed=0).targets)


def test_a_mapping_says_which_class_stands_for_a_value() -> None:
    settings = {"code": "images", "images": "synthetic", "per_class": 1, "values": 9}
    plain, mapped = Addition(**settings), Addition(**settings, mapping=5)
    codes = np.array([[k, k] for k in range(9)])
    own, others = plain.tensors(codes, seed=0).inputs[:, 0], mapped.tensors(codes, seed=0).inputs[:, 0]
    shown = [next((c for c in range(9) if torch.equal(image, own[c])), 9) for image in others]
    assert len(set(shown)) == 9
    assert shown != list(range(9))


def test_a_factor_left_out_has_no_answer() -> None:
    with pytest.raises(SettingError, match="the answer depends on every factor"):
        Addition().tensors([[1, -1]], seed=0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Addition(anchors=(5,)), "5 is not one of the numbers"),
        (lambda: Addition(anchors=()), "then no pair is shown"),
        (lambda: Addition(anchors=(0,), dispersed=True), "each of them says alone"),
        (lambda: Addition(values=2), "it is below 3"),
        (lambda: Addition(values=4), "leaves no 0 in the middle"),
        (lambda: Addition(values=11, code="images"), "images of 10 classes only"),
        (lambda: Addition(code="image"), "did you mean 'images'"),
        (lambda: ContextDependence(k=4), "write k from 1 to 3"),
        (lambda: ContextDependence(values=5), "two halves of equal size"),
        (lambda: ContextDependence(contexts=1), "two halves of equal size"),
        (lambda: ContextDependence(target="class"), "did you mean 'classes'"),
        (lambda: TransitiveEquivalence(classes=(2,)), "two classes or more"),
        (lambda: TransitiveEquivalence(trained=2), "items that are not"),
        (lambda: TransitiveOrdering(items=2), "it is below 3"),
        (lambda: Invariance(code="images", canvas=3), "write canvas=28 or more"),
    ],
)
def test_settings_that_mean_nothing(make: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        make()


@pytest.mark.parametrize("task", ALL, ids=name_of)
def test_a_spec_makes_the_same_task(task: ConjunctionTask) -> None:
    assert TASKS.build(TASKS.spec(task)) == task


# Every task with every splitter

TABLE = {
    "x": [x for x in range(5) for _ in range(5)] * 2,
    "y": list(range(5)) * 10,
    "answer": [float(x) for x in range(50)],
}
SPLIT_TASKS = [
    *ALL[:5],
    TransitiveEquivalence(classes=(5, 5)),
    DigitPairs(images="synthetic"),
    TableTask(source=TABLE, inputs=np.eye(50), factors=("x", "y"), target="answer"),
]


def splitters(task: Task) -> list[Any]:
    names = list(task.space.names)
    last = {factor.name: factor.values[-1] for factor in task.space.factors}
    last |= {names[0]: task.space.factors[0].values[0]}
    made = [
        HoldOutCombinations(names, test_size=0.2),
        HoldOutConjunctions(names, conjunctions=[{name: last[name] for name in names[:2]}]),
        CombinationKFold(names, n_splits=4),
    ]
    ordered = all(isinstance(value, int | float) for factor in task.space.factors for value in factor.values)
    if ordered and not task.space.impossible and min(task.space.sizes) > 2:
        low, high = task.space.factors[0].values[1], task.space.factors[0].values[-2]
        made.append(Donut(names, hole=(low, high)))
    return made


@pytest.mark.parametrize(
    ("task", "splitter"),
    [
        pytest.param(task, made, id=f"{name_of(task)}-{name_of(made)}")
        for task in SPLIT_TASKS
        for made in splitters(task)
    ],
)
def test_every_task_works_with_every_splitter(task: Task, splitter: Any) -> None:
    parts = HeldOut(splitter).parts(task, seed=0)
    seen, unseen = (task.combinations(parts.tests[name].every()) for name in ("seen", "unseen"))
    listed = {tuple(row) for row in task.every()}
    assert {tuple(row) for row in seen} | {tuple(row) for row in unseen} == listed
    assert not {tuple(row) for row in seen} & {tuple(row) for row in unseen}
    assert len(unseen) > 0
    for source, part in ((parts.train, "train"), (parts.tests["unseen"], "test")):
        latents = source.draw(16, seed=1)
        batch = task.render(latents, seed=2, part=part)  # type: ignore[arg-type]
        assert batch.inputs.shape == (16, *task.shapes.inputs)
        again = task.render(latents, seed=2, part=part)  # type: ignore[arg-type]
        assert torch.equal(batch.inputs, again.inputs)


@pytest.mark.parametrize("task", [Invariance(), PartialExposure()], ids=name_of)
def test_four_corners_can_be_split_too(task: Task) -> None:
    parts = HeldOut(HoldOutCombinations(list(task.space.names), test_size=0.25)).parts(task, seed=0)
    assert (len(parts.train.every()), len(parts.tests["unseen"].every())) == (3, 1)
    with pytest.raises(RecombineError):
        HeldOut(HoldOutCombinations(list(task.space.names), test_size=0.99)).parts(task, seed=0)
