"""Kernel theory against networks: each claim on planted rows, each formula on known answers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from recombine.data.space import Space
from recombine.output.figures import Scatter, Strips
from recombine_lab.models.vision import CNN, ResNet
from recombine_lab.tasks.conjunction_tasks import (
    Addition,
    ContextDependence,
    Invariance,
    PartialExposure,
    TransitiveEquivalence,
    TransitiveOrdering,
)
from recombine_lab.tasks.task import Shapes
from recombine_lab.training.fit import fit
from recombine_studies.claims import judged
from recombine_studies.kernel import STUDY
from recombine_studies.kernel.claims import PUBLISHED_BY_DEPTH, off, paired
from recombine_studies.kernel.figures import figures, remarks
from recombine_studies.kernel.grids import DEPTHS
from recombine_studies.kernel.measures import (
    NetworkScores,
    _measured_layer,
    additive,
    answered,
    kernel_of_symbols,
    network_name,
    slope,
    task_name,
    together,
)
from recombine_studies.rows import Rows
from recombine_studies.study import Bench, Evidence

CLAIMS = {claim.name: claim for claim in STUDY.claims}
SMALL = STUDY.presets["small"]
SUMS = {"addition 0": 0.743, "addition -4": 0.743, "addition -4 and 4": 0.853, "addition -2 and 2": 0.853}
ROW: dict[str, Any] = {
    "slope": None,
    "slope_seen": 1.0,
    "theory_slope": None,
    "tangent_slope": None,
    "margin": 1.0,
    "theory_margin": 1.0,
    "theory_right": 1.0,
    "accuracy_seen": 1.0,
    "accuracy_unseen": 1.0,
    "salience": 0.4,
    "noise": None,
    "agreement": 1.0,
    "rank": 15.0,
    "combinations": 64,
    "vacuous": False,
    "r2": 1.0,
    "adjusted": 1.0,
}


def planted() -> Iterator[dict[str, Any]]:
    """Networks of which every claim holds, three seeds each and nearly alike."""
    for seed in range(3):
        near = 0.001 * seed
        for task, theory in SUMS.items():
            mine = {"task": task, "seed": seed, "theory_slope": theory, "tangent_slope": 0.6}
            yield {**ROW, **mine, "network": "lazy MLP", "slope": theory + near}
            yield {**ROW, **mine, "network": "lazy MLP, by width", "slope": 0.8 * theory + near}
            for depth, slope_of_it in zip(DEPTHS, PUBLISHED_BY_DEPTH[task], strict=True):
                yield {**ROW, **mine, "network": f"MLP of depth {depth}", "slope": slope_of_it + near}
            for distance in (0, 20):
                grown = {"slope": 0.5 + 0.01 * distance + near, "salience": 0.2 + 0.005 * distance + near}
                yield {**ROW, **mine, **grown, "tangent_slope": None, "network": f"ConvNet, distance {distance}"}
        for task, accuracy in (("CD-3", 0.2), ("CD-1", 0.9), ("ordering", 1.0), ("equivalence", 0.5)):
            few = {"rank": 2.0, "combinations": 2, "vacuous": True, "adjusted": None, "agreement": None}
            mine = {"task": task, "seed": seed, "accuracy_unseen": accuracy, **(few if task == "CD-1" else {})}
            yield {**ROW, **mine, "network": "lazy MLP"}
            if task.startswith("CD"):
                yield {**ROW, **mine, "network": "ConvNet, distance 10"}
        yield {**ROW, "task": "equivalence", "network": "rich MLP", "seed": seed}
        for distance, right in ((0, 0.5), (20, 0.9)):
            mine = {"task": "equivalence", "seed": seed, "accuracy_unseen": right + near * distance}
            yield {**ROW, **mine, "network": f"ConvNet, distance {distance}"}
        for task in ("CD-3, squared loss", "invariance", "partial exposure"):
            yield {**ROW, "task": task, "network": "lazy MLP", "seed": seed, "margin": 1.0 + near}


def evidence(**changed: Any) -> Evidence:
    """The planted rows, some of them changed: `where` chooses, the rest replaces."""
    where = changed.pop("where", {})
    rows = [{**row, **changed} if all(row[key] == value for key, value in where.items()) else row for row in planted()]
    return Evidence(Bench("nowhere", SMALL), Rows([]), {"networks": Rows(rows)})


def outcome(name: str, found: Evidence) -> str:
    return judged(CLAIMS[name], found).outcome


@pytest.mark.parametrize("name", list(CLAIMS))
def test_every_claim_holds_where_it_must(name: str) -> None:
    assert outcome(name, evidence()) == "holds"


def test_every_claim_is_open_without_evidence() -> None:
    nothing = Evidence(Bench("nowhere", SMALL), Rows([]), {})
    assert {outcome(name, nothing) for name in CLAIMS} == {"not enough evidence"}


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("additive", {"adjusted": 0.5}),
        ("slopes", {"slope": 0.6}),
        ("slopes", {"slope": 1.0}),
        ("depth", {"slope": 0.3}),
        ("initialisation", {"slope": 0.85}),
        ("leak", {"slope": 0.5, "salience": 0.3}),
        ("ordering", {"accuracy_unseen": 0.7}),
        ("shortcut", {"accuracy_unseen": 0.7}),
        ("squared loss", {"accuracy_unseen": 0.1, "margin": -0.5}),
        ("equivalence", {"accuracy_unseen": 0.8}),
        ("equivalence on digits", {"accuracy_unseen": 0.8}),
        ("closed forms", {"margin": 0.8}),
        ("forecast", {"agreement": 0.5}),
    ],
)
def test_no_claim_holds_where_it_must_not(name: str, changed: dict[str, Any]) -> None:
    found = outcome(name, evidence(**changed))
    undecided = name in ("leak", "equivalence on digits")  # all alike, so that no difference is above 0 or below it
    assert found in ("does not hold", *(["not enough evidence"] if undecided else []))


def test_one_network_that_is_not_additive_is_told() -> None:
    found = evidence(where={"network": "ConvNet, distance 20", "task": "addition 0"}, adjusted=0.2)
    assert outcome("additive", found) == "mixed"


def test_rich_networks_have_to_solve_equivalence_and_lazy_ones_must_not() -> None:
    rich = evidence(where={"network": "rich MLP"}, accuracy_unseen=0.5)
    assert outcome("equivalence", rich) == "mixed"


def test_designs_without_numbers_to_spare_cannot_count() -> None:
    names = [one.name for one in judged(CLAIMS["additive"], evidence()).comparisons]
    assert any("CD-3" in name for name in names)
    assert not any("CD-1" in name for name in names)


def test_an_error_counts_either_way() -> None:
    assert off("x", [0.1, 0.1, 0.1001], 0.03).state == "fails"
    assert off("x", [-0.1, -0.1, -0.1001], 0.03).state == "fails"
    assert off("x", [-0.02, 0.0, 0.02], 0.03).state == "open"
    assert off("x", [0.0], 0.03).state == "open"


def test_pairs_are_of_the_same_seed() -> None:
    far, near = (
        Rows([{"seed": seed, "n": add + seed} for seed in order]) for add, order in ((5, (0, 1)), (2, (1, 0, 7)))
    )
    assert paired(far, near, "n") == [3, 3]


@pytest.mark.parametrize(
    ("task", "margin"),
    [
        (Invariance(target="values"), 0.743443),
        (ContextDependence(k=3, target="values"), 0.795140),
        (ContextDependence(k=3), -0.558922),
        (TransitiveEquivalence(), 0.0),
    ],
)
def test_known_margins(task: Any, margin: float) -> None:
    every = task.every()
    unseen = ~task.is_shown(every)
    signed = np.sign(task.answers(every)) * kernel_of_symbols(task)
    assert signed[unseen].mean() == pytest.approx(margin, abs=1e-5)


@pytest.mark.parametrize(("anchors", "known"), [((0,), 0.743443), ((-4,), 0.743443), ((-4, 4), 0.852844)])
def test_known_slopes(anchors: tuple[int, ...], known: float) -> None:
    task = Addition(anchors=anchors)
    every, shown = task.every(), task.is_shown(task.every())
    answers, truth = kernel_of_symbols(task), task.answers(every)
    assert slope(truth[~shown], answers[~shown]) == pytest.approx(known, abs=1e-5)
    np.testing.assert_allclose(answers[shown], truth[shown], atol=1e-8)


def test_the_ordering_of_a_kernel_is_right_everywhere() -> None:
    task = TransitiveOrdering()
    assert (np.sign(kernel_of_symbols(task)) == task.answers(task.every())).all()


def brute_adjusted(task: Any, scores: np.ndarray) -> tuple[float, int]:
    """By a written-out design: one column for each value that was seen."""
    every = task.every()
    shown = task.is_shown(every)
    asked = every[~shown]
    columns = [np.ones(len(asked))]
    for k in range(every.shape[1]):
        columns += [(asked[:, k] == value).astype(float) for value in np.unique(every[shown][:, k])]
    design = np.stack(columns, axis=1)
    residual = scores - design @ np.linalg.lstsq(design, scores, rcond=None)[0]
    rank = int(np.linalg.matrix_rank(design))
    total = float(((scores - scores.mean()) ** 2).sum())
    return 1 - float((residual**2).sum()) / total * (len(scores) - 1) / (len(scores) - rank), rank


@given(st.integers(0, 10**6))
def test_additivity_is_that_of_a_written_out_design(seed: int) -> None:
    task = Addition(values=5)
    every = task.every()
    shown = task.is_shown(every)
    scores = np.random.default_rng(seed).normal(size=int((~shown).sum()))
    found = additive(task.space, every[shown].astype(np.int32), every[~shown].astype(np.int32), scores)
    adjusted, rank = brute_adjusted(task, scores)
    assert found.rank == rank
    assert found.adjusted == pytest.approx(adjusted, abs=1e-8)


def test_the_ranks_of_the_document() -> None:
    for task, rank, size in (
        (ContextDependence(k=1), 2, 2),
        (ContextDependence(k=2), 6, 8),
        (ContextDependence(k=3), 10, 18),
        (Addition(), 15, 64),
        (TransitiveEquivalence(classes=(5, 5), trained=4), 3, 4),
    ):
        every = task.every()
        shown = task.is_shown(every)
        scores = np.arange(float((~shown).sum()))
        found = additive(task.space, every[shown].astype(np.int32), every[~shown].astype(np.int32), scores)
        assert (found.rank, found.combinations) == (rank, size)


def test_a_correlation_needs_something_that_varies() -> None:
    assert together([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert together([1.0, 2.0], [1.0, 2.0]) is None
    assert together([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == -1


def test_answers_are_gathered_by_combination() -> None:
    task = PartialExposure()
    said = NetworkScores(task, task.every(), np.array([0, 1, 2, 3, 3]), np.array([-2.0, -2.0, 4.0, 1.0, -3.0]))
    assert said.mean.tolist() == [-2.0, -2.0, 4.0, -1.0]
    assert said.accuracy("seen") == 1.0
    assert said.accuracy("unseen") == 0.5
    assert said.scale == pytest.approx(8 / 3)


def test_a_run_is_read_in_the_order_of_its_space() -> None:
    task = {"name": "context_dependence", "k": 3}
    recipe = {"steps": 3, "samples": "every", "batch": None}
    (run,) = fit(task, "own", {"name": "mlp", "hidden": [5]}, recipe, progress=None)
    said = answered(run)
    module = run.module()
    asked = said.task.tensors(said.codes.tolist(), seed=0).inputs
    with torch.no_grad():
        scores = module(asked)
    np.testing.assert_allclose(said.mean, (scores[:, 1] - scores[:, 0]).numpy(), atol=1e-5)
    assert (said.seen.sum(), len(said.codes)) == (54, 72)


def test_salience_is_measured_behind_the_last_convolution() -> None:
    pictures = Shapes(inputs=(2, 28, 28), outputs=(1,), kind="values")
    network = CNN(channels=(2, 3), norm="batch").build(pictures)
    name = _measured_layer(network)
    assert isinstance(network.get_submodule(name), nn.ReLU)
    assert isinstance(network.get_submodule(str(int(name) - 1)), nn.Conv2d)
    assert network.get_submodule(str(int(name) - 1)).out_channels == 3
    assert _measured_layer(ResNet(blocks=(1,), channels=(4,)).build(pictures)) == "body"


def test_names() -> None:
    row = {"model": "cnn", "task.distance": 20}
    assert network_name(row) == "ConvNet, distance 20"
    assert network_name({"model": "vit"}) == "ViT"
    assert network_name({"model": "mlp", "model.scale": 1e-6, "model.initialisation": "normal"}) == "rich MLP"
    assert task_name({"task": "addition", "task.anchors": [-4.0, 4.0]}) == "addition -4 and 4"
    assert task_name({"task": "addition", "task.anchors": None}) == "addition 0"
    band = {"task": "addition", "task.anchors": None, "task.dispersed": True, "task.shuffle": 2}
    assert task_name(band) == "addition dispersed, shuffle 2"
    between = {"model": "mlp", "model.scale": 0.1, "model.initialisation": "normal"}
    assert network_name(between) == "MLP of scale 0.1"
    assert task_name({"task": "context_dependence", "task.k": 1, "task.target": "classes"}) == "CD-1"


def with_answers() -> Evidence:
    found = evidence()
    base = {"network": "lazy MLP", "task": "addition 0", "seen": False, "truth": 1.0, "agreement": 0.5}
    rows = [
        {
            **base,
            "level": level,
            "combination": f"1 {place}",
            "seed": seed,
            "predicted": place,
            "measured": place + seed,
        }
        for level in ("combination", "example")
        for place in range(3)
        for seed in range(2)
    ]
    return Evidence(found.bench, found.runs, {**found.measured, "answers": Rows(rows)})


def test_figures_show_every_seed_and_say_what_is_seen() -> None:
    by_combination, by_example, slopes, additivity, accuracies = figures(with_answers())
    assert isinstance(by_combination, Scatter)
    assert isinstance(by_example, Scatter)
    assert by_combination.groups[0].y == (0.5, 1.5, 2.5)
    assert len(by_example.groups[0].x) == 6
    assert "0.5" in by_example.sentence
    for figure in (slopes, additivity, accuracies):
        assert isinstance(figure, Strips)
        assert all(len(strip.values) == 3 for strip in figure.strips)
    assert "CD-1" in additivity.sentence
    assert figures(Evidence(Bench("nowhere", SMALL), Rows([]), {})) == []


def test_remarks_are_computed() -> None:
    told = remarks(with_answers())
    assert any("CD-1 (2 of 2)" in one for one in told)
    changed = remarks(evidence(where={"task": "CD-3", "network": "lazy MLP"}, accuracy_unseen=0.123))
    assert any("0.123" in one for one in changed)
    low = remarks(evidence(where={"network": "lazy MLP", "task": "addition -4"}, adjusted=0.321))
    assert any("lazy MLP on addition -4 (0.321)" in one for one in low)
    noisy = remarks(evidence(where={"network": "lazy MLP", "task": "addition -4"}, adjusted=0.321, noise=0.2))
    assert any("(0.321, with a share of 0.2 noise)" in one for one in noisy)
    # two times S, where the slope of one anchor is S / (1 - S)
    assert any("lazy MLP 0.853 (measured 0.854)" in one for one in told)
    assert len(remarks(Evidence(Bench("nowhere", SMALL), Rows([]), {}))) == 1


def test_the_space_of_a_planted_design() -> None:
    space = Space.of({"a": range(2), "b": range(2)})
    cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    found = additive(space, cells[:3], cells[3:], np.array([1.0]))
    assert found.r2 is None
