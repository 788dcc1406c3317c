"""A prediction: each verdict on a table written by hand; its table, truth, words, track record and errors."""

import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from typer.testing import CliRunner

import recombine
from recombine import Prediction, Salience
from recombine.base.errors import RecombineError, SettingError, TableError
from recombine.cli.app import app
from recombine.data.support import NumberTarget, Support
from recombine.numerics.resampling import IntervalSettings
from recombine.output.pages import draw
from recombine.verbs.predict import backtest as backtesting
from recombine.verbs.predict import predict
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.backtest import HoldoutPlan
from recombine.verbs.predict.diagnosis import VERDICTS, SeenParts, best_margin
from recombine.verbs.predict.holdout_record import HeldOutAnswers
from recombine.verbs.predict.simple_rules import additive_rule, mean_answer, nearest_seen
from tests.properties import examples
from tests.test_cli import run
from tests.twins import brute_determined, brute_scores, every, labels, numbers, one_hot, supports

MATERIALS = ("silk", "wool")
GARMENTS = ("coat", "hat")


def table(text: str, *names: str) -> dict[str, list[Any]]:
    """Columns from lines of words; the last column is numbers where it can be."""
    rows = [line.split() for line in text.strip().splitlines()]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    last = names[-1]
    try:
        columns[last] = [math.nan if word == "?" else float(word) for word in columns[last]]
    except ValueError:
        columns[last] = [None if word == "?" else word for word in columns[last]]
    return columns


def prices(text: str, **options: Any) -> Support:
    columns = table(text, "material", "garment", "price")
    return recombine.read(columns, factors=["material", "garment"], target="price", **options)


def kinds(text: str, **options: Any) -> Support:
    columns = table(text, "material", "garment", "kind")
    return recombine.read(columns, factors=["material", "garment"], target="kind", **options)


def row_of(found: Prediction | pa.Table, *values: Any) -> dict[str, Any]:
    """The line of one combination."""
    lines = (found if isinstance(found, pa.Table) else found.table).to_pylist()
    (row,) = (line for line in lines if list(line.values())[: len(values)] == list(values))
    return row


THREE_CORNERS = "silk hat 0\nsilk coat 1\nwool hat 3"
EIGHT_OF_NINE = """
silk hat 0
silk coat 1
silk scarf 2
wool hat 3
wool coat 4
wool scarf 5
felt hat 6
felt coat 7
"""


# Verdicts


def test_seen() -> None:
    found = recombine.predict(prices(THREE_CORNERS))
    row = row_of(found, "wool", "hat")
    assert (row["seen"], row["count"], row["rung"], row["verdict"]) == (True, 1.0, "seen", "seen")
    assert row["prediction"] == pytest.approx(3)
    assert row["variance"] == pytest.approx(0, abs=1e-9)


def test_fine_without_a_truth() -> None:
    """Nothing is memorised and eight of nine were seen: the ninth is sure, and moved by nothing."""
    found = recombine.predict(prices(EIGHT_OF_NINE), salience="order:0,1,0")
    row = row_of(found, "felt", "scarf")
    assert (row["verdict"], row["rung"], row["seen"], row["truth"]) == ("fine", "determined", False, None)
    assert row["prediction"] == pytest.approx(8)
    assert found.counts == dict.fromkeys(VERDICTS[:-1], 0) | {"seen": 8, "fine": 1}
    assert found.grade == "plausible"  # eight held out, all exact: about the one that is unseen, little is known


def test_fine_with_a_truth() -> None:
    found = recombine.predict(
        prices(EIGHT_OF_NINE), salience="order:0,1,0.01", truth=prices(EIGHT_OF_NINE + "felt scarf 8")
    )
    assert row_of(found, "felt", "scarf")["verdict"] == "fine"
    assert (found.known.known, found.known.wrong) == (1, 0)
    assert "Of 1 unseen combination with a known answer, it comes out right." in found.verdict


def test_leak_without_a_truth() -> None:
    """Moved by memory farther than counts as wrong: a tenth of the answers' standard deviation."""
    found = recombine.predict(prices(EIGHT_OF_NINE), salience="order:0,1,0.1")
    row = row_of(found, "felt", "scarf")
    assert row["verdict"] == "leak"
    assert row["unleaked"] == pytest.approx(8)
    assert abs(row["prediction"] - 8) > 0.1 * np.std(range(8))
    assert found.worst[0].why == (
        "Part of the answer is memorised in the seen combinations; without that it would be 8."
    )


def test_leak_with_a_truth() -> None:
    found = recombine.predict(
        prices(THREE_CORNERS), salience="order:0,1,1", truth=prices(THREE_CORNERS + "\nwool coat 4")
    )
    row = row_of(found, "wool", "coat")
    assert (row["verdict"], row["truth"]) == ("leak", 4.0)
    assert row["prediction"] == pytest.approx(12 / 7)
    assert row["error"] == pytest.approx(12 / 7 - 4)
    assert "1 would come out wrong: 1 is pulled towards memorised answers" in found.verdict


def test_shortcut_names_the_conjunction() -> None:
    """Wool is dear with hats, so a wool coat is thought dear; it is not, with or without memory."""
    found = recombine.predict(
        prices(THREE_CORNERS), salience="order:0,1,0.1", truth=prices(THREE_CORNERS + "\nwool coat -4")
    )
    assert row_of(found, "wool", "coat")["verdict"] == "shortcut"
    (worst,) = found.worst
    assert worst.combination == {"material": "wool", "garment": "coat"}
    assert (worst.verdict, worst.truth) == ("shortcut", -4.0)
    explained = row_of(found.explain([("wool", "coat")]), "wool", "coat")
    strongest = f"material = wool ({explained['from material']:.3g})"
    second = f"garment = coat ({explained['from garment']:.3g})"
    assert explained["from material"] > explained["from garment"] > 0
    assert worst.why == f"Pulled the wrong way (up) by {strongest} and {second}."


def test_shortcut_between_classes() -> None:
    """Context 0 asks for the first feature, context 1 for the second; the unseen ones are led by the other one."""
    cells = every((2, 2, 2))
    answer = np.where(cells[:, 0] == 0, cells[:, 1], cells[:, 2])
    seen = ~((cells[:, 1] == 0) & (cells[:, 2] == 1))
    support, truth = labels(cells[seen], answer[seen], sizes=(2, 2, 2)), labels(cells, answer)
    found = recombine.predict(support, salience="relu:1", fit=recombine.FitSettings(loss="margin"), truth=truth)
    assert {tuple(one.combination.values()): one.why.split(" (0.")[0] for one in found.worst} == {
        ("0", "0", "1"): "Pulled the wrong way (to yes) by f2 = 1",
        ("1", "0", "1"): "Pulled the wrong way (to no) by f1 = 0",
    }
    assert found.grade in ("weak", "failing")  # both of the unseen ones come out wrong, and all of them are known
    assert found.counts["shortcut"] == 2


def test_cannot() -> None:
    """Same or different: on four unseen pairs the signs are + - - +, which is no sum."""
    cells = every((4, 4))
    same = (cells[:, 0] // 2 == cells[:, 1] // 2).astype(int)
    seen = (cells % 2 == 0).any(axis=1)
    found = recombine.predict(labels(cells[seen], same[seen], sizes=(4, 4)), truth=labels(cells, same))
    assert found.counts["can't"] == 4
    assert found.worst[0].why.startswith("No sum over the conjunctions that were seen gives the true answers here")


def test_cannot_for_numbers() -> None:
    """The same with numbers: what addition leaves of an interaction is out of reach, wherever it is large."""
    cells = every((4, 4))
    values = np.where(cells[:, 0] // 2 == cells[:, 1] // 2, 1.0, -1.0)
    seen = (cells % 2 == 0).any(axis=1)
    found = recombine.predict(numbers(cells[seen], values[seen], sizes=(4, 4)), truth=numbers(cells, values))
    assert found.counts["can't"] == 4
    additive = cells.sum(axis=1) * 1.0
    found = recombine.predict(numbers(cells[seen], additive[seen], sizes=(4, 4)), truth=numbers(cells, additive))
    assert found.counts["can't"] == 0


def test_cannot_among_five_classes() -> None:
    """Latin squares are no sums; one class for each row of the unseen block is."""
    cells = every((6, 6))
    seen = (cells < 3).any(axis=1)
    classes = tuple("abcde")
    latin = (cells[:, 0] + cells[:, 1]) % 3
    by_row = cells[:, 0] % 3
    for places, out_of_reach in ((latin, True), (by_row, False)):
        support = labels(cells[seen], places[seen], classes=classes, sizes=(6, 6))
        found = recombine.predict(support, truth=labels(cells, places, classes=classes))
        assert (found.counts["can't"] > 0) is out_of_reach


def test_not_determined() -> None:
    found = recombine.predict(prices("silk hat 1\nwool coat 2"), salience="order:0,1,0")
    for combination in (("silk", "coat"), ("wool", "hat")):
        row = row_of(found, *combination)
        assert (row["verdict"], row["rung"]) == ("not determined", "undetermined")
    assert found.worst[0].why == "Nothing seen links its values, so any answer would be as good."
    assert found.grade == "untested"


def test_unsure() -> None:
    """Determined by three answers, but each is mostly memory: the fourth is anybody's guess."""
    found = recombine.predict(prices(THREE_CORNERS), salience="order:0,1,4")
    row = row_of(found, "wool", "coat")
    assert (row["verdict"], row["rung"]) == ("unsure", "determined")
    assert found.worst[0].why.startswith("Too little was seen of its parts to say")
    assert row["variance"] > 4 + 0.5 * 2


@pytest.mark.parametrize(("full", "verdict"), [(1.9, "unsure"), (2.1, "unsure"), (0.3, "leak")])
def test_unsure_begins_where_half_of_the_doubt_is_left(full: float, verdict: str) -> None:
    """Of the two values' variance, 2 in all, more than 1 is left after what was seen."""
    found = recombine.predict(prices(EIGHT_OF_NINE), salience=f"order:0,1,{full}")
    row = row_of(found, "felt", "scarf")
    assert row["verdict"] == verdict
    assert (row["variance"] - full > 1) is (verdict == "unsure")


def test_novel() -> None:
    found = recombine.predict(prices(THREE_CORNERS, domain={"garment": ["hat", "coat", "boots"]}), salience="relu:1")
    row = row_of(found, "wool", "boots")
    assert (row["verdict"], row["rung"], row["parts_seen"], row["parts"]) == ("novel", "novel", 1, 3)
    assert found.counts["novel"] == 2
    assert "2 combinations hold a value never seen." in found.verdict


def test_novel_alone_is_told_in_the_verdict() -> None:
    found = recombine.predict(prices(THREE_CORNERS + "\nwool coat 4", domain={"garment": ["hat", "coat", "boots"]}))
    assert (found.counts["novel"], found.counts["seen"]) == (2, 4)
    assert "2 combinations hold a value never seen" in found.verdict


# The table


def test_the_columns_of_a_number() -> None:
    found = recombine.predict(prices(THREE_CORNERS))
    assert found.table.column_names == [
        *("material", "garment", "seen", "count", "rung", "prediction", "low", "high", "unleaked", "truth", "error"),
        *("variance", "variance_error", "verdict", "like_tested", "parts_seen", "parts"),
        *("from the constant", "from material", "from garment", "from material × garment"),
    ]
    for row in found.table.to_pylist():
        parts = [value or 0.0 for name, value in row.items() if name.startswith("from ")]
        assert sum(parts) == pytest.approx(row["prediction"], abs=1e-10)
        half = 1.959964 * math.sqrt(found.scale * row["variance"])
        assert (row["low"], row["high"]) == pytest.approx(
            (row["prediction"] - half, row["prediction"] + half), abs=1e-6
        )
        assert (row["from material × garment"] is None) is (not row["seen"])


def test_the_columns_of_a_label() -> None:
    found = recombine.predict(kinds("silk hat light\nsilk coat light\nwool hat warm"))
    assert found.table.column_names[5:9] == ["prediction", "score", "unleaked", "truth"]
    row = row_of(found, "wool", "coat")
    assert (row["prediction"], row["truth"], row["error"]) == ("warm", None, None)
    assert row["score"] > 0  # towards the second class
    assert row_of(found, "silk", "hat")["score"] == pytest.approx(-1)


def test_five_classes_tell_the_winner() -> None:
    classes = tuple("abcde")
    cells = every((5, 4))
    seen = np.arange(20) % 7 != 3
    support = labels(cells[seen], cells[seen][:, 0], classes=classes, sizes=(5, 4))
    found = recombine.predict(support, salience="relu:1", truth=labels(cells, cells[:, 0], classes=classes))
    assert found.learner.answers.questions == 5
    signs = 2 * np.eye(5)[cells[seen][:, 0]] - 1
    expected = brute_scores(cells[seen], signs, cells, found.salience.weights)
    rows = found.table.to_pylist()
    assert [row["prediction"] for row in rows] == [classes[k] for k in expected.argmax(axis=1)]
    assert [row["score"] for row in rows] == pytest.approx(expected.max(axis=1), abs=1e-9)
    for row in rows:
        parts = [value or 0.0 for name, value in row.items() if name.startswith("from ")]
        assert sum(parts) == pytest.approx(row["score"], abs=1e-10)
    assert found.known.error.value == 1.0


@given(supports(most_factors=3, most_values=4), st.integers(0, 2**32 - 1))
@examples(20)
def test_every_row_against_the_dense_solve(support: Support, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=len(support))
    known = numbers(support.codes, values, sizes=support.space.sizes, counts=support.counts)
    found = recombine.predict(known, salience="relu:2", fit=recombine.FitSettings(ridge=0.2))
    cells = every(support.space.sizes)
    expected = brute_scores(support.codes, values, cells, found.salience.weights, 0.2 / support.counts)
    assert found.table["prediction"].to_numpy() == pytest.approx(expected, abs=1e-8)
    without = (*found.salience.weights[:-1], 0.0)
    expected = brute_scores(support.codes, values, cells, without, 0.2 / support.counts)
    assert found.table["unleaked"].to_numpy() == pytest.approx(expected, abs=1e-8)
    assert sum(found.counts.values()) == len(cells) == found.space
    assert [found.counts[name] for name in VERDICTS[:-1]] == [
        found.table["verdict"].to_pylist().count(name) for name in VERDICTS[:-1]
    ]


def test_rows_without_an_answer_are_unseen() -> None:
    found = recombine.predict(prices(THREE_CORNERS + "\nwool coat ?"))
    row = row_of(found, "wool", "coat")
    assert (row["seen"], row["count"]) == (False, 0.0)
    assert len(found.learner.support) == 3


def test_impossible_combinations_have_no_row() -> None:
    support = prices(EIGHT_OF_NINE, impossible=[{"material": "felt", "garment": "scarf"}])
    found = recombine.predict(support)
    assert (found.table.num_rows, found.space) == (8, 8)
    assert found.record().data["listed"] == 8
    cells = found.record().tables["cells"]
    assert (cells.num_rows, cells["verdict"].to_pylist().count(8)) == (9, 1)


def test_a_factor_named_like_a_column_keeps_its_name() -> None:
    columns = {"seen": ["a", "a", "b"], "verdict": ["x", "y", "x"], "y": [1.5, 2.0, 3.0]}
    found = recombine.predict(recombine.read(columns, factors=["seen", "verdict"], target="y"))
    assert found.table["seen"].to_pylist() == ["a", "a", "b", "b"]
    assert found.table["seen_"].to_pylist() == [True, True, True, False]
    assert found.table["verdict_"].to_pylist()[:3] == ["seen"] * 3


def test_combinations_that_are_asked_for() -> None:
    support = prices(THREE_CORNERS)
    for asked in (
        [("wool", "coat"), ("silk", "hat")],
        [{"garment": "coat", "material": "wool"}, {"material": "silk", "garment": "hat"}],
        pa.table({"material": ["wool", "silk"], "garment": ["coat", "hat"]}),
    ):
        found = recombine.predict(support, combinations=asked)
        assert found.table.select(["material", "garment"]).to_pylist() == [
            {"material": "wool", "garment": "coat"},
            {"material": "silk", "garment": "hat"},
        ]
        assert not found.sampled
    assert recombine.predict(support, combinations=[]).table.num_rows == 0


def test_explain_gives_the_same_row_with_its_parts() -> None:
    found = recombine.predict(prices(EIGHT_OF_NINE), salience="relu:2")
    explained = found.explain([("felt", "scarf"), ("felt", "tent")])
    assert [*explained.column_names, "like_tested"] == [*found.table.drop("like_tested").column_names, "like_tested"]
    first, second = explained.to_pylist()
    assert first | {"like_tested": True} == row_of(found, "felt", "scarf")
    assert (second["garment"], second["verdict"], second["from garment"]) == (None, "novel", None)
    assert second["prediction"] == pytest.approx(second["from the constant"] + second["from material"])
    with pytest.raises(SettingError, match="has 1 values"):
        found.explain([("felt",)])


def test_a_vast_space_is_drawn_from_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "MOST_LISTED", 50)
    monkeypatch.setattr(predict, "DRAWN", 30)
    rng = np.random.default_rng(0)
    cells = every((8, 8))
    seen = cells[rng.permutation(64)[:20]]
    support = numbers(seen, seen.sum(axis=1), sizes=(8, 8))
    found = recombine.predict(support, salience="relu:1", seed=3)
    assert found.sampled
    assert found.record().data["sampled"] is True
    assert 0 < found.table.num_rows <= 30
    drawn = {(row["f0"], row["f1"]) for row in found.table.to_pylist()}
    assert len(drawn) == found.table.num_rows
    assert not drawn & set(map(tuple, seen.tolist()))
    assert found.counts["seen"] == found.counts["novel"] == 0
    again = recombine.predict(support, salience="relu:1", seed=3)
    other = recombine.predict(support, salience="relu:1", seed=4)
    assert again.table.equals(found.table)
    assert not other.table.equals(found.table)
    asked = recombine.predict(support, truth=numbers([[0, 0], [7, 7]], [0, 14], sizes=(8, 8)))
    assert (asked.sampled, asked.table.num_rows) == (False, 2)


# The truth


def test_truth_from_another_table() -> None:
    """Values and classes may stand elsewhere or be unknown here: what cannot be placed is not known."""
    support = kinds("silk hat light\nsilk coat light\nwool hat warm\nfelt hat warm")
    truth = kinds("boot hat warm\nfelt coat warm\nsilk hat light\nwool coat cosy\nzinc boots warm\nwool hat warm")
    found = recombine.predict(support, truth=truth)
    assert row_of(found, "felt", "coat")["truth"] == "warm"
    assert row_of(found, "wool", "coat")["truth"] is None  # a class that was never learnt
    assert row_of(found, "silk", "hat")["truth"] == "light"
    assert (found.known.known, found.known.wrong) == (1, 0)  # of the unseen


def test_the_commonest_class_is_the_truth() -> None:
    support = kinds("silk hat light\nsilk coat light\nwool hat warm")
    truth = kinds("wool coat warm\nwool coat light\nwool coat light\nsilk hat light")
    found = recombine.predict(support, truth=truth)
    row = row_of(found, "wool", "coat")
    assert (row["truth"], row["prediction"], row["error"]) == ("light", "warm", 1.0)
    assert found.known.wrong == 1
    assert found.known.error.value == 0.0


def test_numbers_are_held_against_the_mean_of_the_truth() -> None:
    truth = prices("wool coat 3\nwool coat 5\nsilk hat 0")
    found = recombine.predict(prices(THREE_CORNERS), salience="order:0,1,1", truth=truth)
    assert row_of(found, "wool", "coat")["truth"] == 4.0
    assert found.known.error.value == pytest.approx(4 - 12 / 7)
    assert found.known.error.name == "root mean squared error"


def test_the_page_says_against_what_the_slope_is() -> None:
    cells = every((4, 4))
    seen = cells[np.arange(16) % 5 != 4]
    found = recombine.predict(numbers(seen, seen.sum(axis=1), sizes=(4, 4)), truth=numbers(cells, cells.sum(axis=1)))
    assert found.slope is not None
    assert "Against the truth, effects on unseen combinations" in draw(found.record())


def test_accuracy_agrees_with_what_is_wrong() -> None:
    """A score of nothing is no answer, whichever sign its rounding has."""
    cells = every((4, 4))
    same = (cells[:, 0] // 2 == cells[:, 1] // 2).astype(int)
    seen = (cells % 2 == 0).any(axis=1)
    found = recombine.predict(labels(cells[seen], same[seen], sizes=(4, 4)), truth=labels(cells, same))
    assert found.known.wrong == 4
    assert found.known.error.value == found.share("right") == 0
    assert {row["error"] for row in found.table.to_pylist() if not row["seen"]} == {1.0}


@examples(60)
@given(supports(most_factors=3, most_values=4), st.integers(0, 2**32 - 1))
def test_signs_are_within_reach_where_a_linear_programme_finds_them(support: Support, seed: int) -> None:
    """Some sum over seen lower conjunctions gives all that is asked its sign with a margin of one, or none does."""
    rng = np.random.default_rng(seed)
    cells = every(support.space.sizes)
    fresh = cells[support.groups(range(cells.shape[1])).lookup(cells) < 0]
    assume(len(fresh))
    asked = fresh[np.sort(rng.permutation(len(fresh))[:8])]
    signs = rng.choice([-1.0, 1.0], len(asked))
    weights = (1.0,) * 2 ** cells.shape[1]
    columns = [np.ones((len(asked), 1))]
    for mask in range(1, len(weights) - 1):
        groups = support.groups([k for k in range(cells.shape[1]) if mask >> k & 1])
        columns.append((groups.lookup(asked)[:, None] == np.arange(groups.size)).astype(float))
    design = np.hstack(columns)
    bounds = [(None, None)] * design.shape[1]
    possible = linprog(np.zeros(design.shape[1]), -signs[:, None] * design, -np.ones(len(asked)), bounds=bounds).success
    found = best_margin(SeenParts.of(support, weights, np.asfortranarray(asked)), signs)
    assert bool(found.min() > 1e-6) is bool(possible)
    if possible:
        assert found.min() >= 1 - 1e-6


# Shares, words, records


def test_shares() -> None:
    found = recombine.predict(prices(EIGHT_OF_NINE[: EIGHT_OF_NINE.rindex("felt coat")]), salience="order:0,1,0.01")
    unseen = found.table.num_rows - found.counts["seen"]
    assert unseen == 2
    for name in VERDICTS[1:-1]:
        assert found.share(name) == found.counts[name] / unseen
    with pytest.raises(
        SettingError, match="no share 'right'\n  why      a prediction does not measure it without a truth"
    ):
        found.share("right")
    with pytest.raises(SettingError, match="no share 'seen'"):
        found.share("seen")
    truth = prices("felt coat 7\nfelt scarf 2\nwool hat 3")
    assert recombine.predict(found.support, salience="order:0,1,0.01", truth=truth).share("right") == 0.5


def test_a_truth_that_says_nothing_is_not_right() -> None:
    truth = prices("silk hat 0\nwool hat 3\nsilk coat 1")
    found = recombine.predict(prices(THREE_CORNERS), salience="order:0,1,0", truth=truth)
    assert found.known.known == 0
    assert not found.share("right") >= 0.9


def test_nothing_unseen_is_nothing_wrong() -> None:
    found = recombine.predict(prices(THREE_CORNERS + "\nwool coat 4"))
    assert found.grade == "untested"
    assert found.share("fine") == 1


def test_reasons_speak_of_the_learner_and_of_mixed_rows() -> None:
    support = kinds("silk hat light\nsilk hat warm\nsilk coat light\nwool hat warm")
    found = recombine.predict(support, salience="order:0,0.3,0.4")
    assert found.reasons[0].startswith(
        "The learner (order, squared loss) gives 60 % of its weight to single values and 40 % to the full combination"
    )
    assert "1 combination has rows with different answers; their mean was learnt." in found.reasons


def plain(record: Any) -> tuple[Any, dict[str, str]]:
    """A record so that it can be compared, NaN with NaN."""
    return json.loads(json.dumps(record.data)), {name: repr(one.to_pydict()) for name, one in record.tables.items()}


@pytest.mark.parametrize("kind", ["number", "label", "classes", "unanswered"])
def test_saved_and_loaded_it_is_the_same(tmp_path: Path, kind: str) -> None:
    cells = every((4, 4))
    seen = np.arange(16) % 5 != 4
    if kind == "number":
        support, truth = numbers(cells[seen], cells[seen].sum(axis=1), sizes=(4, 4)), numbers(cells, cells.sum(axis=1))
        found = recombine.predict(
            support,
            salience="order:inf,0.4,0.2",
            fit=recombine.FitSettings(ridge=0.1),
            truth=truth,
            backtest=True,
            seed=5,
        )
    elif kind == "unanswered":
        found = recombine.predict(prices(EIGHT_OF_NINE + "felt scarf ?"), salience="relu:1")
    else:
        classes, count = (("no", "yes"), 2) if kind == "label" else (tuple("abcd"), 4)
        support = labels(cells[seen], cells[seen][:, 0] % count, classes=classes, sizes=(4, 4))
        found = recombine.predict(
            support, fit=recombine.FitSettings(loss="margin"), truth=labels(cells, cells[:, 0] % count, classes=classes)
        )
    loaded = Prediction.load(found.save(tmp_path / "saved"))
    assert plain(loaded.record()) == plain(found.record())
    assert (loaded.backtest, loaded.slope, loaded.worst, loaded.known) == (
        found.backtest,
        found.slope,
        found.worst,
        found.known,
    )
    assert loaded.salience == found.salience
    assert loaded.support == found.support
    asked = cells[:3].tolist() if kind != "unanswered" else [("felt", "scarf")]
    assert loaded.explain(asked).equals(found.explain(asked))
    assert repr(loaded) == repr(found) == f"Prediction({found.verdict!r})"
    assert "<img " in loaded._repr_html_()


def test_the_drawn_cube_adds_up() -> None:
    """Constant and parts of each cell are its prediction: what the page shows when a cell is clicked."""
    rng = np.random.default_rng(0)
    cells = every((3, 4, 2))
    seen = np.sort(rng.permutation(24)[:15])
    found = recombine.predict(numbers(cells[seen], rng.normal(size=15), sizes=(3, 4, 2)), salience="relu:2")
    record = found.record()
    grid, parts = record.data["grid"], record.tables["parts"].to_pydict()
    drawn = [factor["codes"] for factor in grid["factors"]]
    total = np.full((3, 4, 2), grid["constant"][0])
    for place, members in enumerate(grid["sets"]):
        values = np.array([v for v, at in zip(parts["value"], parts["set"], strict=True) if at == place], dtype=float)
        shape = [len(drawn[k]) if k in members else 1 for k in range(3)]
        total = total + np.nan_to_num(values).reshape(shape)
    assert total.ravel() == pytest.approx(record.tables["cells"]["prediction"].to_numpy(), abs=1e-5)
    assert sorted(drawn[1]) == [0, 1, 2, 3]


# The track record


@given(st.integers(5, 200), st.floats(0.05, 0.5), st.integers(0, 99))
def test_folds_hold_every_combination_out_once(combinations: int, share: float, seed: int) -> None:
    splits = HoldoutPlan.of(combinations, share=share, folds=None, seed=seed).rounds
    held_out = np.concatenate([test for _, test in splits])
    assert sorted(held_out.tolist()) == list(range(combinations))
    for train, test in splits:
        assert not set(train) & set(test)
        assert len(train) + len(test) == combinations


def test_the_track_record_is_what_the_folds_say() -> None:
    """Held out by hand, and solved by one dense solve a fold."""
    rng = np.random.default_rng(1)
    cells = every((6, 6))[rng.permutation(36)[:30]]
    cells = cells[np.lexsort(cells.T[::-1])]
    values = rng.normal(size=30)
    record = recombine.backtest(numbers(cells, values, sizes=(6, 6)), salience="relu:1", share=0.2, seed=7)
    weights = Salience.network("relu", depth=1, factors=2).weights
    errors = []
    for train, test in HoldoutPlan.of(30, share=0.2, folds=5, seed=7).rounds:
        errors += (brute_scores(cells[train], values[train], cells[test], weights) - values[test]).tolist()
    assert (record.folds, record.tested) == (5, 30)
    kernel = record.methods[0]
    assert (kernel.name, kernel.difference) == ("kernel", None)
    assert kernel.score == pytest.approx(np.sqrt(np.mean(np.square(errors))), abs=1e-9)
    assert kernel.low < kernel.score < kernel.high
    assert sum(rung.tested for rung in record.rungs) == 30


def test_intervals_allow_for_the_noise_of_what_is_held_out() -> None:
    """A mean of few examples is itself uncertain: their variance over their number is part of the interval."""
    cells = every((5, 5))
    values = cells[:, 0] - 1.0 * cells[:, 1]
    plain = numbers(cells, values)
    half = 2.0  # each combination holds two examples, this far on either side of their mean
    target = NumberTarget("y", np.full(25, 2.0), 2 * values, 2 * (values**2 + half**2))
    noisy = Support(plain.space, plain.codes, np.full(25, 2.0), target, rows=50)
    widths = [
        np.array([high - low for _, _, low, high in recombine.backtest(one, salience="relu:1").points])
        for one in (plain, noisy)
    ]
    within = 2 * half**2 / (2 - 1)  # the pooled variance of one example
    reach = NormalDist().inv_cdf(0.975)
    expected = np.sqrt((widths[0] / 2 / reach) ** 2 + within / 2)
    assert widths[1] / 2 / reach == pytest.approx(expected, abs=1e-9)


def all_determined(size: int) -> HeldOutAnswers:
    nothing = np.zeros(size)
    codes, rungs = np.zeros((size, 2), dtype=np.int32), np.full(size, "determined")
    return HeldOutAnswers(codes, nothing[:, None], nothing.astype(int), nothing, {}, nothing, nothing, rungs)


def test_the_track_record_s_intervals_keep_their_promise() -> None:
    """Planted squared errors, skewed as squared errors are: quantiles of draws hold the truth less often."""
    rng, ours, plain = np.random.default_rng(0), [], []
    truth, apart = math.sqrt(2.0), math.sqrt(2.0) - math.sqrt(3.0)
    for seed in range(200):
        kernel = np.square(rng.normal(scale=truth, size=15))
        losses = {"kernel": kernel, "additive": kernel + rng.exponential(size=15)}
        tried = all_determined(15)
        own, other = (
            backtesting._method(name, losses, None, tried, IntervalSettings(draws=200, seed=seed), number=True)
            for name in losses
        )
        assert other.difference[1] == pytest.approx(own.score - other.score)
        ours.append([own.low <= truth <= own.high, other.difference[0] <= apart <= other.difference[2]])
        places = rng.integers(0, 15, (200, 15))
        roots = {name: np.sqrt(loss[places].mean(axis=1)) for name, loss in losses.items()}
        ends = [np.quantile(one, [0.025, 0.975]) for one in (roots["kernel"], roots["kernel"] - roots["additive"])]
        plain.append([low <= value <= high for (low, high), value in zip(ends, (truth, apart), strict=True)])
    assert (np.mean(ours, axis=0) >= 0.9).all()
    assert (np.mean(plain, axis=0) < 0.9).all()


def test_a_track_record_of_few_has_no_intervals() -> None:
    losses = {"kernel": np.array([1.0, 2.0, 3.0]), "mean": np.ones(3)}
    tried = all_determined(3)
    found = [backtesting._method(name, losses, None, tried, IntervalSettings(), number=True) for name in losses]
    assert [(one.low, one.high, one.difference) for one in found] == [(None, None, None)] * 2


def test_a_random_target_is_not_beaten_by_luck() -> None:
    """Pure noise: intervals cover as often as they promise, and a network's kernel does not beat the mean of it."""
    found, beats = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        cells = every((12, 12))[np.sort(rng.permutation(144)[:110])]
        noise = numbers(cells, rng.normal(size=110), sizes=(12, 12))
        beats += recombine.backtest(noise, salience="relu:3").beats
        record = recombine.backtest(noise, salience="order:0,0.05,0.9")
        found.append([one.found for one in record.calibration])
        assert record.coverage.nominal == 0.95
        assert record.coverage.low <= record.coverage.found <= record.coverage.high
        assert record.coverage.found == record.calibration[-1].found
    assert np.mean(found, axis=0) == pytest.approx([0.5, 0.8, 0.9, 0.95], abs=0.05)
    assert "mean" not in beats


def test_additive_data_are_the_additive_rule_s() -> None:
    rng = np.random.default_rng(0)
    cells = every((6, 6))
    values = cells[:, 0] + 2.0 * cells[:, 1] + 0.01 * rng.normal(size=36)
    record = recombine.backtest(numbers(cells, values))
    assert (record.score, record.better) == ("root mean squared error", "lower")
    assert record.loses_to == ("additive",)
    assert record.beats == ("nearest seen", "f1 alone", "mean")
    additive = next(method for method in record.methods if method.name == "additive")
    assert additive.score < 0.03
    assert additive.difference[0] > 0


def test_interactions_are_the_kernel_s() -> None:
    """Three factors of which two make a checkerboard: no additive rule sees it, pairs do."""
    cells = every((4, 4, 5))
    yes = (cells[:, 0] + cells[:, 1]) % 2
    record = recombine.backtest(labels(cells, yes), salience="relu:2")
    assert (record.score, record.better, record.coverage, record.calibration) == ("accuracy", "higher", None, ())
    names = [method.name for method in record.methods]
    assert names[:3] + names[4:] == ["kernel", "additive", "nearest seen", "majority"]
    assert names[3].endswith(" alone")
    assert record.methods[0].score > 0.9
    assert {"additive", "majority"} <= set(record.beats)
    assert not record.loses_to


def test_a_back_test_is_part_of_the_prediction() -> None:
    told = []
    found = recombine.predict(
        prices(EIGHT_OF_NINE), backtest=True, progress=lambda step, share: told.append((step, share))
    )
    assert found.backtest == recombine.backtest(prices(EIGHT_OF_NINE))
    assert any(reason.startswith("Back-tested on 8 seen combinations, each held out") for reason in found.reasons)
    assert found.record().data["backtest"]["repeats"] == 8
    recombine.predict(prices(EIGHT_OF_NINE), salience="fit", progress=lambda step, share: told.append((step, share)))
    assert ("back-testing", 0.0) in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 0.0}, "share=0.0"),
        ({"share": 0.7}, "share held out at a time"),
        ({"share": 0.2, "folds": 9}, "with share=0.2 there are 5"),
        ({"share": 0.2, "folds": 0}, "write 1 to 5"),
    ],
)
def test_shares_and_folds_that_mean_nothing(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        recombine.backtest(prices(EIGHT_OF_NINE), **options)


def test_too_few_combinations_for_a_track_record() -> None:
    with pytest.raises(TableError, match="a back-test with 3 combinations"):
        recombine.backtest(prices(THREE_CORNERS))


# Baselines


@given(supports(), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_the_nearest_seen_by_brute_force(support: Support, seed: int, questions: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(support), questions))
    known = numbers(support.codes, values[:, 0], sizes=support.space.sizes)
    own = answers(known)
    own = type(own)(own.name, own.kind, own.classes, own.rows, values, own.labels, own.counts, own.within, own.mixed)
    cells = every(support.space.sizes)
    matches = (cells[:, None, :] == support.codes[None]).sum(axis=2)
    expected = [values[row == row.max()].mean(axis=0) for row in matches]
    np.testing.assert_allclose(nearest_seen(known, own, np.asfortranarray(cells)), expected, atol=1e-10)
    np.testing.assert_allclose(mean_answer(own, cells), np.tile(values.mean(axis=0), (len(cells), 1)))


@examples(60)
@given(supports(most_factors=3), st.integers(0, 2**32 - 1))
def test_the_additive_rule_by_brute_force(support: Support, seed: int) -> None:
    """Least squares, wherever the seen ones determine the answer."""
    values = np.random.default_rng(seed).normal(size=len(support))
    known = numbers(support.codes, values, sizes=support.space.sizes)
    cells = every(support.space.sizes)
    coefficients = np.linalg.lstsq(one_hot(support.codes, support.space.sizes), values, rcond=None)[0]
    expected = one_hot(cells, support.space.sizes) @ coefficients
    found = additive_rule(known, answers(known), np.asfortranarray(cells))[:, 0]
    sure = brute_determined(support)
    np.testing.assert_allclose(found[sure], expected[sure], atol=1e-4)


# Bad input


def wide(factors: int) -> Support:
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, 2, (40, factors)), axis=0)
    return numbers(codes, rng.normal(size=len(codes)), sizes=(2,) * factors)


MIXED = "silk hat light\nsilk hat warm\nsilk coat light\nwool hat warm"
TWO = "silk hat light\nsilk coat light\nwool hat warm"
BAD = {
    "contradictory labels with the margin": (
        lambda: recombine.predict(kinds(MIXED), fit=recombine.FitSettings(loss="margin")),
        ["but 1 combinations hold rows of several classes of 'kind'", "write loss='squared', which takes the mean"],
    ),
    "one class": (
        lambda: recombine.predict(kinds("silk hat light\nsilk coat light\nwool hat light")),
        ["every row has the same 'kind': light", "at least two classes"],
    ),
    "no answer at all": (
        lambda: recombine.predict(prices("silk hat ?\nwool coat ?")),
        ["no row has a 'price'", "missing or NaN"],
    ),
    "infinite answers": (
        lambda: recombine.predict(numbers(every((2, 2)), [1, 2, 3, math.inf])),
        ["infinite or too large", "take the logarithm"],
    ),
    "no target": (
        lambda: recombine.predict(
            recombine.read(table(TWO, "material", "garment", "kind"), factors=["material", "garment"])
        ),
        ["a prediction without a target", "--target COLUMN"],
    ),
    "not a support": (
        lambda: recombine.predict({"a": [1]}),
        ["recombine.predict was given a dict", "without factors"],
    ),
    "too many factors": (
        lambda: recombine.predict(wide(21)),
        ["a salience over 21 factors", "choose the 20 factors or fewer"],
    ),
    "no weight at all": (
        lambda: recombine.predict(prices(THREE_CORNERS), salience="order:1,0,0"),
        ["no set of factors weighs anything"],
    ),
    "weights that are no kernel": (
        lambda: recombine.predict(prices(THREE_CORNERS), salience="order:0,0.3,-0.4"),
        ["the salience has the eigenvalue -0.4 for material and garment", "clipped()"],
    ),
    "a salience of three factors": (
        lambda: recombine.predict(prices(THREE_CORNERS), salience=Salience.by_order([0, 1, 1, 1])),
        ["a salience of 3 factors", "the table has 2: material, garment"],
    ),
    "three orders too many": (
        lambda: recombine.predict(prices(THREE_CORNERS), salience="order:0,1"),
        ["has 2 weights", "2 factors have 3 orders"],
    ),
    "a salience that is a number": (
        lambda: recombine.predict(prices(THREE_CORNERS), salience=0.3),
        ["salience=0.3", "a network such as 'relu:3'"],
    ),
    "an unknown network": (
        lambda: recombine.predict(prices(THREE_CORNERS), salience="rleu:3"),
        ["no salience 'rleu:3'", "did you mean 'relu'?"],
    ),
    "a margin for a number": (
        lambda: recombine.predict(prices(THREE_CORNERS), fit=recombine.FitSettings(loss="margin")),
        ["loss='margin' for the number 'price'", "target_kind='label'"],
    ),
    "a negative ridge": (
        lambda: recombine.predict(prices(THREE_CORNERS), fit=recombine.FitSettings(ridge=-0.1)),
        ["ridge=-0.1", "a number from 0 on"],
    ),
    "a ridge that is not a number": (
        lambda: recombine.predict(prices(THREE_CORNERS), fit=recombine.FitSettings(ridge=math.nan)),
        ["ridge=nan"],
    ),
    "an unknown loss": (
        lambda: recombine.predict(kinds(TWO), fit=recombine.FitSettings(loss="hinge")),
        ["loss='hinge'", "write 'squared' or 'margin'"],
    ),
    "a truth with other factors": (
        lambda: recombine.predict(numbers([[0, 0], [1, 1]], [1, 2]), truth=prices(THREE_CORNERS)),
        ["the truth has the factors material, garment", "the table has f0, f1"],
    ),
    "a truth of another kind": (
        lambda: recombine.predict(prices(THREE_CORNERS), truth=kinds(TWO)),
        ["the truth is a label", "read the truth with target_kind='number'"],
    ),
    "a truth without a target": (
        lambda: recombine.predict(
            prices(THREE_CORNERS),
            truth=recombine.read(table(TWO, "material", "garment", "kind"), factors=["material", "garment"]),
        ),
        ["without a target"],
    ),
    "no rule keeps a margin": (
        lambda: recombine.predict(
            labels(every((2, 2)), [0, 1, 1, 0]), salience="order:0,0.5,0", fit=recombine.FitSettings(loss="margin")
        ),
        ["no sum over the weighted conjunctions", "give the full combination some weight"],
    ),
    "a text for a combination": (
        lambda: recombine.predict(prices(THREE_CORNERS), combinations=["wool"]),
        ["the combination 'wool' is one text"],
    ),
    "features that are not there": (
        lambda: recombine.predict(prices(THREE_CORNERS), salience="absent.parquet"),
        ["cannot read the features in 'absent.parquet'"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_says_what_why_and_what_instead(name: str) -> None:
    ask, words = BAD[name]
    with pytest.raises(RecombineError) as caught:
        ask()
    for word in words:
        assert word in str(caught.value)


def test_a_free_intercept_alone_answers_with_the_mean() -> None:
    support = prices(THREE_CORNERS)
    with np.errstate(all="ignore"):
        found = recombine.predict(support, salience=Salience(2, (math.inf, 0.0, 0.0, 1.0)))
    assert row_of(found, "wool", "coat")["prediction"] == pytest.approx(4 / 3)
    assert row_of(found, "wool", "coat")["unleaked"] == pytest.approx(4 / 3)


# The command


COLD = """material,garment,price,really
silk,hat,0,0
silk,coat,1,1
silk,scarf,2,2
wool,hat,3,3
wool,coat,4,4
wool,scarf,5,5
felt,hat,6,6
felt,coat,7,7
felt,scarf,,8
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "prices.csv").write_text(COLD)
    (tmp_path / "truth.csv").write_text("material,garment,price\nfelt,scarf,8\nwool,hat,3\n")
    (tmp_path / "wrong.csv").write_text("material,garment,price\nfelt,scarf,-8\nwool,hat,3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


ASK = ("predict", "prices.csv", "-f", "material,garment", "-t", "price", "--target-kind", "number")


def command(*words: str) -> tuple[int, str]:
    """The exit code and what was printed, in this process; a mistake is raised."""
    done = CliRunner().invoke(app, [*ASK, *words])
    if isinstance(done.exception, RecombineError):
        raise done.exception
    return done.exit_code, done.stdout


def test_the_command_answers_first(folder: Path) -> None:
    code, said = command("--salience", "order:0,1,0")
    assert code == 0
    lines = said.strip().splitlines()
    assert lines[0].strip().startswith("Of what held-out combinations like these differ by, the forecast explains ")
    assert "target" in said
    assert "a number" in said
    assert "8 combinations" in said
    assert "of 9 possible" in said
    code, said = command("--no-backtest")
    assert "Nothing was tested: no back-test was run." in said


@pytest.mark.process
def test_the_command_explains_a_mistake(folder: Path) -> None:
    done = run(folder, *ASK, "--salience", "relu")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error  the salience 'relu' has no depth" in done.stderr
    assert "write 'relu:3' for three layers" in done.stderr


def test_truth_from_a_column_and_from_a_table(folder: Path) -> None:
    for truth in ("really", "truth.csv"):
        code, said = command("--salience", "order:0,1,0.01", "--truth", truth)
        assert code == 0
        assert "Of 1 unseen combination with a known answer, it comes out right." in " ".join(said.split())
    assert "1 is led astray by a shortcut" in " ".join(command("--truth", "wrong.csv")[1].split())


def test_a_truth_of_one_combination(folder: Path) -> None:
    (folder / "one.csv").write_text("material,garment,price\nfelt,scarf,8\n")
    assert command("--truth", "one.csv")[0] == 0


def test_json_is_the_record(folder: Path) -> None:
    code, said = command("--json", "--salience", "order:0,1,0.01", "--fail-under", "fine=0.5")
    found = json.loads(said)
    support = recombine.read("prices.csv", factors=["material", "garment"], target="price", target_kind="number")
    again = recombine.predict(support, salience="order:0,1,0.01")
    assert code == 0
    assert (found["kind"], found["verdict"], found["counts"]) == ("prediction", again.verdict, again.counts)
    assert found["gates"] == {"fine": {"asked": 0.5, "found": 1.0, "verdict": "pass"}}
    assert found["salience"]["weights"][1] == {"factors": ["material"], "weight": 1.0}


@pytest.mark.parametrize(
    ("words", "code", "ends"),
    [
        (("--salience", "order:0,1,0", "--fail-under", "fine=0.9"), 0, "pass"),
        (("--salience", "order:0,1,0.2", "--fail-under", "fine=0.9"), 3, "fail"),
        (("--salience", "order:0,1,0", "--no-backtest", "--fail-under", "fine=0.9"), 4, "not enough evidence"),
        (("--salience", "order:0,1,0", "--no-backtest", "--fail-under", "expected=0.5"), 4, "not enough evidence"),
        (("--fail-under", "expected=0.9"), 4, "not enough evidence"),  # its interval would say nothing
        (("--salience", "order:0,1,0", "--fail-under", "lift=0"), 0, "pass"),
        (("--salience", "order:0,1,0", "--truth", "wrong.csv", "--fail-under", "right=0.9"), 3, "fail"),
        (("--salience", "order:0,1,0", "--truth", "truth.csv", "--fail-under", "right=0.9"), 0, "pass"),
    ],
)
def test_gates(folder: Path, words: tuple[str, ...], code: int, ends: str) -> None:
    found, said = command(*words)
    assert found == code
    assert f": {ends}\n" in said


def test_a_gate_that_is_not_measured(folder: Path) -> None:
    with pytest.raises(SettingError, match="no share 'determined'"):
        command("--fail-under", "determined=0.9")


def test_the_page_and_the_folder_are_written(folder: Path) -> None:
    code, said = command("--report", "predict.html", "--out", "saved", "--truth", "really")
    assert code == 0
    assert (folder / "predict.html").read_text().startswith("<!doctype html>")
    assert "predict.html" in said
    loaded = Prediction.load(folder / "saved")
    assert loaded.known is not None
    assert loaded.known.known == 1


def test_the_track_record_is_printed(folder: Path) -> None:
    code, said = command("--backtest")
    assert code == 0
    for word in (
        "8 held out",
        "root mean squared error",
        "kernel",
        "additive",
        "nearest seen",
        "mean",
        "95 % intervals hold",
    ):
        assert word in said


def test_a_vast_space_is_told_by_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "MOST_LISTED", 5)
    assert "1 unseen ones drawn at random" in command()[1]


# What a first-time user met


def test_a_look_up_table_knows_nothing_of_the_unseen() -> None:
    found = recombine.predict(prices(THREE_CORNERS), salience="order:0,0,1")
    assert found.counts["unsure"] == 1
    assert found.grade == "untested"


def test_rows_without_an_answer_are_told() -> None:
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [1.0, 2.0, 3.5, None]}
    found = recombine.predict(recombine.read(table, factors=["a", "b"], target="y"))
    assert "1 combination has no y: nothing was learnt from them, and they count as unseen." in found.reasons


def test_a_truth_about_seen_combinations_alone_is_told() -> None:
    found = recombine.predict(prices(THREE_CORNERS), truth=prices(THREE_CORNERS))
    assert "The truth speaks of none of the unseen combinations." in found.reasons


def test_nothing_asked_is_not_everything_seen() -> None:
    assert recombine.predict(prices(THREE_CORNERS), combinations=[]).verdict.startswith(
        "No combination was asked about."
    )


def test_a_truth_must_be_read_first_and_share_a_class() -> None:
    support = kinds("silk hat light\nsilk coat light\nwool hat warm")
    with pytest.raises(SettingError, match="the truth is a str"):
        recombine.predict(support, truth="truth.csv")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="none of them is a class of 'kind'"):
        recombine.predict(support, truth=kinds("wool coat red\nsilk hat blue\nwool hat red"))


def test_a_forecast_warns_where_the_seen_ones_seem_to_be_chosen_by_their_answer():
    chosen = [(a, b) for a in range(9) for b in range(9) if a + b > 5]
    by_chance = [(a, b) for a in range(9) for b in range(9) if (a * 5 + b * 7) % 9 > 2]
    for seen, warned in ((chosen, True), (by_chance, False)):
        rows = [(a, b, a + b + 0.1) for a, b in seen]
        table = {name: [row[k] for row in rows] for k, name in enumerate("aby")}
        found = recombine.predict(table, factors=["a", "b"], target="y", target_kind="number")
        assert ("Careful: y is higher in the seen combinations" in found.verdict) == warned
        assert any("not chosen by their answer" in reason for reason in found.reasons) != warned
