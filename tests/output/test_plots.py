"""Axes and labels: shares stay within their hundred, and what stands at one place is labelled once."""

import re

import pytest

from recombine.output import audit_pictures, plan_pictures, prediction_pictures
from recombine.output.pictures import TOP

NEEDED = [{"factor": f"factor {k}", "now": 57.0, "slope_now": 0.56, "for": [[0.8, 177], [0.9, 398]]} for k in range(8)]
CURVE = [[1.0, 0.1], [10.0, 0.4], [100.0, 0.8]]


def shares(dots):
    return [float(re.match(r"-?[\d.]+", tick.text)[0]) for tick in dots.ticks]


@pytest.mark.parametrize(("score", "low", "high"), [(1.0, 1.0, 1.0), (0.98, 0.9, 1.0), (0.02, 0.0, 0.1)])
def test_an_axis_of_shares_ends_at_a_hundred(score, low, high):
    methods = [{"name": name, "score": score, "low": low, "high": high} for name in ("kernel", "mean")]
    found = {"methods": methods, "score": "accuracy", "better": "higher", "tested": 9, "share": 0.2, "repeats": 1}
    dots = prediction_pictures.track(found).methods
    assert 0 <= min(shares(dots)) <= max(shares(dots)) <= 100
    assert all(0 <= place <= 100 for dot in dots.dots for place in (dot.at, dot.low, dot.high))
    assert len({tick.text for tick in dots.ticks}) == len(dots.ticks) > 1


def test_the_axis_of_a_replay_in_shares_ends_at_a_hundred():
    found = {"measure": "share of pairs", "collected": [0, 1, 2], "planned": [0.5, 0.9, 1.0], "random": [0.5, 0.6, 0.8]}
    drawn = plan_pictures.replay(found | {"low": [0.4, 0.5, 0.6], "high": [0.6, 0.9, 1.0]})
    assert max(float(re.match(r"[\d.]+", tick.text)[0]) for tick in drawn.y_ticks) == 100
    assert min(mark.y for mark in drawn.marks) == TOP


def test_factors_that_stand_at_one_place_share_a_label():
    labels = prediction_pictures.curve({"curve": CURVE, "needed": NEEDED}).labels
    assert [label.text for label in labels] == ["all 8 factors"]
    apart = [*NEEDED[:3], {**NEEDED[3], "now": 3.0, "slope_now": 0.2}]
    texts = [label.text for label in prediction_pictures.curve({"curve": CURVE, "needed": apart}).labels]
    assert sorted(texts) == ["factor 0 and 2 others", "factor 3"]


def test_the_ends_of_a_narrow_histogram_are_told_apart():
    edges = [1.0 + k / 1000 for k in range(11)]
    measured = {"histogram": {"edges": edges, "counts": [1] * 10}, "known": 10, "of": 10, "median": 1.005}
    shown = audit_pictures.leverage(measured | {"p90": 1.009, "worst": 1.01, "weak": 9, "sampled": False})
    texts = [tick.text for tick in shown.ticks]
    assert len(set(texts)) == len(texts)
