"""Thirteen to twenty factors: weights by the size of a set stand for 2^K of them, and nobody goes through all."""

import json
import math
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

import recombine
from recombine.base.errors import RecombineError, SettingError, TableError
from recombine.cli.predict import _next
from recombine.verbs.predict import learner
from recombine.verbs.predict.kernel import order_weights, salience
from recombine.verbs.predict.kernel.dense_kernel import Similarity
from recombine.verbs.predict.kernel.network_kernels import kappa
from recombine.verbs.predict.kernel.order_weights import WeightsBySize, total, total_with, with_ends
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.prediction_record import describe_salience, revive_salience
from recombine.verbs.predict.prediction_table import CombinationGrid


def planted(factors: int, rows: int, *, seed: int = 0, noise: float = 0.3, label: bool = False) -> recombine.Support:
    """Answers that are one number a value, added up, with noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (rows, factors))
    answer = rng.normal(size=(factors, 3))[np.arange(factors), codes].sum(axis=1) + noise * rng.normal(size=rows)
    names = [f"f{k}" for k in range(factors)]
    told = np.where(answer > 0, "high", "low").tolist() if label else answer.tolist()
    return recombine.read(dict(zip(names, codes.T.tolist(), strict=True)) | {"y": told}, factors=names, target="y")


@pytest.fixture
def few_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets are written out for four factors at most, so that the other way can be compared on seven."""
    for module in (order_weights, salience, learner):
        monkeypatch.setattr(module, "MOST_FACTORS", 4)


@pytest.mark.parametrize("orders", [(0.3, 0.5, 0.2, 0.0, 0.1), (math.inf, 1.0, 0.0, 2.0, 0.5)])
def test_it_reads_like_the_weights_written_out(orders: tuple[float, ...]) -> None:
    written = Salience.by_order(orders)
    held = Salience(4, WeightsBySize(orders), name="order")
    assert [held.weights[mask] for mask in range(16)] == list(written.weights)
    assert (held.weights[-1], len(held.weights)) == (written.weights[-1], 16)
    assert (held.full, held.free_constant, held.exchangeable) == (written.full, written.free_constant, True)
    assert held.order_weights == pytest.approx(written.order_weights)
    assert held.saliences == pytest.approx(written.saliences)
    assert held.mask_weight(0, 2) == written.mask_weight(0, 2)
    assert str(held) == str(written)
    assert total(held.weights) == pytest.approx(sum(written.weights[1:]))
    assert total_with(held.weights, 2) == pytest.approx(total_with(written.weights, 2))
    assert held.replace_full(7.0).weights[-1] == 7.0
    bounded = with_ends(held.weights, constant=0.0, full=0.0)
    plain = with_ends(written.weights, constant=0.0, full=0.0)
    np.testing.assert_allclose(Similarity.of(bounded).table, Similarity.of(plain).table)


@pytest.mark.slow
@pytest.mark.parametrize("label", [False, True])
@pytest.mark.parametrize("kind", ["relu:3", "order:0,1,0.5,0,0.2,0,0,0.4"])
def test_the_whole_prediction_is_that_of_the_weights_written_out(
    label: bool, kind: str, request: pytest.FixtureRequest
) -> None:
    support = planted(7, 90, label=label)
    written = recombine.predict(support, salience=kind)
    request.getfixturevalue("few_enumerated")
    held = recombine.predict(support, salience=kind)
    assert isinstance(held.learner.salience.weights, WeightsBySize)
    assert not isinstance(written.learner.salience.weights, WeightsBySize)
    for name in held.table.column_names:
        one, other = held.table[name], written.table[name]
        if pa.types.is_floating(one.type):
            np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=1e-9, atol=1e-12)
        else:
            assert one.equals(other)
    assert (held.expected, held.reasons) == (written.expected, written.reasons)
    np.testing.assert_allclose(held.slope.curve, written.slope.curve)
    assert [one.goals for one in held.slope.needed] == [one.goals for one in written.slope.needed]
    assert held.table.column_names == written.table.column_names


@pytest.mark.parametrize("family", ["relu", "gaussian", "ntk"])
def test_twenty_factors_keep_the_kernel_of_the_network(family: str) -> None:
    """What the weights by order add up to is the kernel itself, although a million sets have one."""
    wanted = kappa(family, 3, 20)
    found = Similarity.of(Salience.network(family, depth=3, factors=20).weights)
    np.testing.assert_allclose(found.table, wanted, atol=1e-12 * wanted[-1])


@pytest.mark.slow
def test_sixteen_factors_take_seconds_and_little_memory() -> None:
    resource, support = pytest.importorskip("resource"), planted(16, 1_000)
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = recombine.predict(support, examples=recombine.Examples(symbols=True))
    record = found.record()
    assert time.process_time() - start < 20
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 500e6
    assert found.grade == "sound"  # one number a value, and 1,000 rows for 33 of them
    assert found.expected.low > 0.9
    row = found.table.to_pylist()[0]
    told = sum(value for name, value in row.items() if name.startswith("from "))
    assert told == pytest.approx(row["prediction"], abs=1e-8)
    assert len(json.dumps(record.data)) < 3_000_000


@pytest.mark.slow
def test_what_no_rule_can_reach_is_not_known_and_nobody_is_told_so() -> None:
    found = recombine.predict(planted(13, 60), truth=planted(13, 200, seed=5))
    assert found.known is not None
    assert found.known.wrong > 0
    assert found.counts["can't"] == 0


@pytest.mark.slow
def test_sixteen_factors_of_noise_are_not_graded_well() -> None:
    rng = np.random.default_rng(1)
    names = [f"f{k}" for k in range(16)]
    table = {name: rng.integers(0, 3, 300).tolist() for name in names} | {"y": rng.normal(size=300).tolist()}
    assert recombine.predict(table, factors=names, target="y").grade in ("weak", "failing", "untested")


def test_a_saved_salience_of_many_factors_comes_back() -> None:
    given = Salience(14, WeightsBySize((math.inf, *[0.5] * 14)), noise=0.1, name="order")
    plain = json.loads(json.dumps(describe_salience(given, tuple("abcdefghijklmn"))))
    assert revive_salience(plain) == given


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"salience": "fit"}, "13 factors[^!]*relu:3"),
        ({"fit": recombine.FitSettings("margin")}, "margin loss over 13 factors[^!]*squared"),
        ({"salience": Salience.by_order([0, 1, 1], factors=13)}, "13 factors[^!]*ridge"),
        ({"salience": "order:0,1" + ",-1" * 12}, "2\\*\\*13 = 8,192[^!]*12 factors or fewer"),
    ],
)
def test_what_needs_every_set_is_refused_in_words(settings: dict[str, object], words: str) -> None:
    with pytest.raises(RecombineError, match=f"(?s){words}"):
        recombine.predict(planted(13, 40, label=True), **settings)  # type: ignore[arg-type]


def test_more_than_a_matrix_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "LARGEST", 30)
    with pytest.raises(TableError, match="at most 30"):
        recombine.predict(planted(13, 40))


def test_nobody_goes_through_all_of_them() -> None:
    weights = Salience.network("relu", depth=3, factors=20).weights
    for use in (list, np.asarray, lambda given: given[1:], lambda given: 5.0 in given):
        with pytest.raises(SettingError, match="1,048,576"):
            use(weights)
    with pytest.raises(SettingError, match="20 factors or fewer"):
        Salience.network("relu", depth=3, factors=21)


@pytest.mark.slow
@pytest.mark.parametrize(("factors", "offered"), [(12, True), (13, False)])
def test_what_to_do_next_is_not_what_is_refused(factors: int, offered: bool) -> None:
    told = " ".join(command for command, _ in _next(recombine.predict(planted(factors, 40))))
    assert ("--salience fit" in told) is offered


def test_the_first_factors_are_drawn_whole() -> None:
    drawn = CombinationGrid.of(planted(20, 60), questions=1)
    assert [len(values) for values in drawn.values][:4] == [3, 3, 3, 3]
    assert len(drawn.codes) < 300_000
