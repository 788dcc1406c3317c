"""A target of zeros and ones that is read as a number: answers are shares of rows, and stay between 0 and 1."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.cli.rehearse import _facts as facts_of_rehearsal
from recombine.data.support import NumberTarget
from recombine.output.audit_page import audit_page
from recombine.output.prediction_page import prediction_page
from tests.commands import run_command
from tests.output.test_audit_page import payload_of
from tests.properties import examples

FACTORS = ["object", "surface", "lamp"]


def world(seed: int, *, rows: int = 12) -> tuple[dict[str, list[object]], dict[tuple[str, ...], float]]:
    """Successes of 60 of 100 combinations, whose share adds up and is often near all; and the share of each."""
    rng = np.random.default_rng(seed)
    sizes = (5, 5, 4)
    costs = [rng.uniform(0, 0.3, size) for size in sizes]
    cells = list(np.ndindex(*sizes))
    truth = {
        tuple(f"{name[0]}{k}" for name, k in zip(FACTORS, cell, strict=True)): 1.0
        - sum(cost[k] for cost, k in zip(costs, cell, strict=True))
        for cell in cells
    }
    names = list(truth)
    seen = [names[k] for k in rng.permutation(len(names))[:60] for _ in range(rows)]
    table: dict[str, list[object]] = {name: [one[k] for one in seen] for k, name in enumerate(FACTORS)}
    return table | {"success": [int(rng.random() < truth[one]) for one in seen]}, truth


@examples(200)
@given(
    groups=st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 1.0, 0.5, -1.0, 2.0, 1e9]), min_size=0, max_size=6), min_size=1, max_size=4
    ),
    shift=st.sampled_from([0.0, 0.5, 0.75]),
)
def test_a_share_is_told_by_its_sums(groups, shift):
    apart = [np.array(group) - shift for group in groups]
    sums = (np.array([f(one) for one in apart]) for f in (len, np.sum, lambda one: np.square(one).sum()))
    count, total, squares = (one.astype(float) for one in sums)
    found = NumberTarget("y", count, total, squares, shift).is_share
    assert found or any(set(group) - {0.0, 1.0} for group in groups)
    if found:  # the numbers and their squares have one sum in each: 2 and eight times 0.5, and what is as contrived
        assert all(sum(group) == sum(value * value for value in group) for group in groups)


@pytest.mark.parametrize("unit", [2.0**-200, 2.0**-40, 2.0**200])
def test_the_unit_of_a_number_changes_nothing(unit):
    """Amperes of 10^-12 are no share, small as they are beside 1: answers are those of picoamperes, negative ones
    too. A power of two, so that not one bit may differ."""
    table, truth = world(0)
    noise = np.random.default_rng(0).normal(0, 0.1, len(table["success"]))
    y = np.array([truth[one] - 0.7 for one in zip(*(table[name] for name in FACTORS), strict=True)]) + noise
    both = [{**table, "success": (y * factor).tolist()} for factor in (1.0, unit)]
    plain, moved = (recombine.predict(one, factors=FACTORS, target="success") for one in both)
    assert min(plain.table["prediction"].to_pylist()) < 0
    assert (np.array(moved.table["prediction"]) == np.array(plain.table["prediction"]) * unit).all()
    assert (moved.verdict, moved.grade) == (plain.verdict, plain.grade)
    plain, moved = (recombine.audit(one, factors=FACTORS, target="success") for one in both)
    assert (moved.verdict, moved.grade) == (plain.verdict, plain.grade)
    for mine, other in zip(plain.maps, moved.maps, strict=True):
        np.testing.assert_array_equal(other.answer, mine.answer * unit)
    assert payload_of(audit_page(moved.record()))["maps"] == payload_of(audit_page(plain.record()))["maps"]


def test_answers_and_their_intervals_stay_within_0_and_1_and_hold_the_share():
    held, tighter = [], []
    for seed in range(5):
        table, truth = world(seed)
        found = recombine.predict(table, factors=FACTORS, target="success", target_kind="number")
        lines = found.table.to_pylist()
        for line in lines:
            assert 0 <= line["low"] <= line["prediction"] <= line["high"] <= 1
            assert 0 <= line["unleaked"] <= 1
        unseen = [line for line in lines if not line["seen"]]
        held += [line["low"] <= truth[tuple(line[name] for name in FACTORS)] <= line["high"] for line in unseen]
        for value, said, low, high in found.backtest.points:
            assert 0 <= low <= said <= high <= 1
            tighter.append(abs(value - said))
        raw = found.learner.fitted.scores(found.learner.support.codes)
        assert raw.max() > 1 or raw.min() < 1  # nothing in the learner itself was changed
    assert np.mean(held) > 0.9
    assert len(held) == 200


def test_adding_up_is_tested_within_0_and_1():
    """An audit by hand: least squares without each combination in turn, cut to what a share can be."""
    table, _ = world(3)
    audit = recombine.audit(table, factors=FACTORS, target="success", target_kind="number")
    support, target = audit.support, audit.support.target
    assert target.is_share
    design = np.column_stack([np.eye(size)[support.codes[:, k]] for k, size in enumerate(support.space.sizes)])
    own, missed = target.mean, []
    for k in range(len(own)):
        rest = np.arange(len(own)) != k
        effects = np.linalg.lstsq(design[rest], own[rest], rcond=None)[0]
        missed.append(np.clip(design[k] @ effects, 0, 1) - own[k])
    expected = 1 - np.square(missed).sum() / np.square(own - own.mean()).sum()
    assert audit.additive.held_out == pytest.approx(expected)
    assert audit.record().data["map_answers"] == "share of success"


@pytest.mark.parametrize("verb", ["audit", "predict"])
def test_what_is_said_of_a_share(verb, tmp_path):
    table, _ = world(0)
    lines = zip(*table.values(), strict=True)
    (tmp_path / "s.csv").write_text("\n".join([",".join(table), *(",".join(map(str, line)) for line in lines)]) + "\n")
    asked = (verb, "s.csv", "--factors", ",".join(FACTORS), "--target", "success")
    assert "its share: --target-kind number" in re.sub(r"\s+", " ", run_command(tmp_path, *asked, COLUMNS="200").stdout)
    said = re.sub(r"\s+", " ", run_command(tmp_path, *asked, "--target-kind", "number", COLUMNS="200").stdout)
    assert "success, a share of rows" in said
    if verb == "predict":
        assert re.search(r"root mean squared error \d+ points", said)
        assert re.search(r"without that it would be \d+ %", said) or "leak" not in said


def test_pages_and_rehearsals_say_a_share_in_percent(tmp_path):
    table, _ = world(0)
    asked = {"factors": FACTORS, "target": "success", "target_kind": "number"}
    audited = payload_of(audit_page(recombine.audit(table, **asked).record()))
    assert (audited["answer"], audited["answer_share"]) == ("share of success", True)
    predicted = payload_of(prediction_page(recombine.predict(table, **asked).record()))
    assert predicted["share"] is True
    rehearsed = recombine.rehearse(table, "additive", **asked, rounds=2)
    assert rehearsed.target_is_share
    assert "a share of rows" in next(facts_of_rehearsal(rehearsed))


def test_a_number_that_is_no_share_stays_a_number():
    table, _ = world(1)
    table["success"] = [2.0 * value for value in table["success"]]
    asked = {"factors": FACTORS, "target": "success", "target_kind": "number"}
    assert payload_of(audit_page(recombine.audit(table, **asked).record()))["answer_share"] is False
    assert not recombine.rehearse(table, "additive", **asked, rounds=2).target_is_share
