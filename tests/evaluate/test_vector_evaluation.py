"""Predicted vectors on unseen combinations: planted predictions whose score is known, by hand, saved and told."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError, SettingError
from recombine.cli.app import app
from tests.audit.test_vector_audit import screen

FACTORS = ["p1", "p2"]


def split_screen(**world: Any) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """A screen of which every fourth pair is held out, and the true mean of each row's combination."""
    table, vectors = screen(**world)
    pairs = list(zip(table["p1"], table["p2"], strict=True))
    doubles = sorted({pair for pair in pairs if "ctrl" not in pair})
    held = set(doubles[::4])
    truth = np.stack([vectors[[one == pair for one in pairs]].mean(axis=0) for pair in pairs])
    return table | {"split": ["test" if pair in held else "train" for pair in pairs]}, vectors, truth


def test_who_knows_the_truth_goes_all_of_the_way() -> None:
    """Also where nothing adds up, so that every simple rule falls behind."""
    table, vectors = screen(noise=0.0, interaction=2.0)
    rng = np.random.default_rng(1)
    pairs = list(zip(table["p1"], table["p2"], strict=True))
    held = set(sorted({pair for pair in pairs if "ctrl" not in pair})[::3])
    table |= {"split": ["test" if pair in held else "train" for pair in pairs]}
    noisy = vectors + rng.normal(size=vectors.shape)
    found = recombine.evaluate_vectors(
        table, factors=FACTORS, target=noisy, prediction=vectors, split="split", control="ctrl"
    )
    side = found.side("unseen")
    assert side.combinations == len(held)
    for one in side.scores:
        assert one.reached == pytest.approx(1, abs=0.03), one.name
        assert one.low is not None and one.high is not None and one.value is not None  # noqa: PT018
        assert one.low <= one.value <= one.high
    assert found.grade == "sound"
    assert "beaten beyond chance" in found.verdict
    assert found.expected.lift is not None
    assert found.expected.lift[0] > 0


def test_the_mean_goes_nothing_of_the_way_and_a_shuffle_less() -> None:
    table, vectors, _ = split_screen()
    pairs = list(zip(table["p1"], table["p2"], strict=True))
    train = {pair for pair, side in zip(pairs, table["split"], strict=True) if side == "train"}
    means = np.stack([vectors[[one == pair for one in pairs]].mean(axis=0) for pair in train])
    constant = np.tile(means.mean(axis=0), (len(vectors), 1))
    found = recombine.evaluate_vectors(table, factors=FACTORS, target=vectors, prediction=constant, split="split")
    assert found.side("unseen").score("R²").value == pytest.approx(0, abs=1e-6)  # type: ignore[union-attr]
    assert found.grade == "failing"
    assert "least squares" in found.verdict
    shuffled = recombine.evaluate_vectors(
        table, factors=FACTORS, target=vectors, prediction=vectors[::-1].copy(), split="split"
    )
    assert shuffled.expected.value < 0  # type: ignore[operator]
    assert "worse than always answering the mean" in shuffled.verdict


def test_numbers_are_those_by_hand() -> None:
    table, vectors, _ = split_screen(width=4)
    rng = np.random.default_rng(2)
    said = vectors + rng.normal(size=vectors.shape)
    pairs = np.array([f"{a}+{b}" for a, b in zip(table["p1"], table["p2"], strict=True)])
    test = np.array(table["split"]) == "test"
    found = recombine.evaluate_vectors(
        table, factors=FACTORS, target=vectors, prediction=said, split="split", control="ctrl"
    )
    trained = {pair: vectors[~test & (pairs == pair)].mean(axis=0) for pair in sorted(set(pairs[~test]))}
    mean = np.mean(list(trained.values()), axis=0)
    names = sorted(set(pairs[test]))
    y, p = (np.stack([rows[pairs == pair].mean(axis=0) for pair in names]) for rows in (vectors, said))
    unseen = {one.name: one.value for one in found.side("unseen").scores}
    spread = np.square(y - mean).sum()
    assert unseen["R²"] == pytest.approx(1 - np.square(y - p).sum() / spread, rel=1e-4)
    control = trained["ctrl+ctrl"]
    pearson = [np.corrcoef(a - control, b - control)[0, 1] for a, b in zip(y, p, strict=True)]
    assert unseen["Pearson from control"] == pytest.approx(np.mean(pearson), rel=1e-4)
    added = np.stack([trained[f"{a}+ctrl"] + trained[f"ctrl+{b}"] - control for a, b in (n.split("+") for n in names)])
    rules = {one.name: one.r2 for one in found.rules}
    assert rules["additive"] == pytest.approx(1 - np.square(y - added).sum() / spread, rel=1e-4)
    assert rules["no change"] == pytest.approx(1 - np.square(y - control).sum() / spread, rel=1e-4)
    assert found.table.num_rows == len(names)
    assert found.by_output["output"].to_pylist() == ["0", "1", "2", "3"]


def test_two_tables_and_columns_give_the_same_as_one_with_arrays(tmp_path: Path) -> None:
    table, vectors, _ = split_screen(width=5)
    said = vectors + 0.1
    test = np.array(table["split"]) == "test"
    plain = {name: np.array(table[name]) for name in FACTORS}
    genes = {f"gene_{k}": vectors[:, k] for k in range(5)}
    predicted = {f"said_{k}": said[:, k] for k in range(5)}
    train = pa.table({name: column[~test] for name, column in (plain | genes).items()})
    tested = pa.table({name: column[test] for name, column in (plain | genes | predicted).items()})
    for name, one in (("train", train), ("test", tested)):
        pq.write_table(one, tmp_path / f"{name}.parquet")
    both = recombine.evaluate_vectors(
        tmp_path / "test.parquet",
        factors=FACTORS,
        target="gene_*",
        prediction="said_*",
        train=str(tmp_path / "train.parquet"),
        control={"p1": "ctrl", "p2": "ctrl"},
    )
    one = recombine.evaluate_vectors(
        table, factors=FACTORS, target=vectors, prediction=said, split="split", control="ctrl"
    )
    assert both.trained == one.trained
    for mine, theirs in zip(both.side("unseen").scores, one.side("unseen").scores, strict=True):
        assert mine.value == pytest.approx(theirs.value, rel=1e-4), mine.name
    assert [rule.name for rule in both.rules] == [rule.name for rule in one.rules]


def test_seen_combinations_and_rows_without_a_prediction_are_told_apart() -> None:
    table, vectors, _ = split_screen(rows=8)
    sides = np.array(table["split"], dtype=object)
    sides[::5] = "test"  # some rows of seen combinations are tested too
    said = vectors.copy()
    gaps = np.flatnonzero(sides == "test")[:3]
    said[gaps, 0] = np.nan
    found = recombine.evaluate_vectors(
        table | {"split": list(sides)}, factors=FACTORS, target=vectors, prediction=said, split="split"
    )
    assert found.side("seen").combinations > 0
    assert found.unpredicted == 3
    assert any("3 tested rows have no whole prediction" in one for one in found.reasons)


def test_it_is_saved_drawn_and_shown(tmp_path: Path) -> None:
    table, vectors, _ = split_screen()
    found = recombine.evaluate_vectors(table, factors=FACTORS, target=vectors, prediction=vectors + 1, split="split")
    found.save(tmp_path / "evaluation")
    assert recombine.load(tmp_path / "evaluation") == found
    page = found.page(tmp_path / "evaluation.html").read_text()
    assert "How much of what can be reached was reached" in page
    assert "of the way from what the mean gets" in found._repr_html_()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "without what was trained on"),
        ({"split": "split", "train": {"p1": ["a"]}}, "both train and split"),
        ({"split": "nothing"}, "no column 'nothing'"),
        ({"split": "split", "prediction": np.zeros((1, 2))}, "an array of 1 rows"),
        ({"split": "split", "prediction": ["g0", "g1"]}, "2 predicted"),
        ({"train": "train.parquet"}, "an array as the target beside a table of training rows"),
        ({"split": "split", "draws": 3}, "draws"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_in_words(given: dict[str, Any], said: str) -> None:
    table, vectors, _ = split_screen(width=3)
    source = table | {"g0": vectors[:, 0], "g1": vectors[:, 1]}
    with pytest.raises(RecombineError, match=said):
        recombine.evaluate_vectors(source, factors=FACTORS, target=vectors, **{"prediction": vectors} | given)


def test_the_command_knows_a_pattern_and_a_column_of_lists(tmp_path: Path) -> None:
    table, vectors, _ = split_screen(width=3)
    lists = {"y": list(vectors), "said": list(vectors + 0.1)}
    columns = {f"y_{k}": vectors[:, k] for k in range(3)} | {f"said_{k}": vectors[:, k] for k in range(3)}
    pq.write_table(pa.table(table | lists | columns), tmp_path / "said.parquet")
    start = ["evaluate", str(tmp_path / "said.parquet"), "-f", "p1,p2", "--split", "split"]
    for target, prediction in (("y", "said"), ("y_*", "said_*")):
        told = CliRunner().invoke(app, [*start, "-t", target, "-p", prediction])
        assert told.exit_code == 0, told.output
        assert "The predictions explain" in told.output
        assert "at best" in told.output
    refused = CliRunner().invoke(app, [*start, "-t", "y_*", "-p", "said_*", "--against", "other"])
    assert isinstance(refused.exception, SettingError)
    assert "does not know it yet" in str(refused.exception)
    with pytest.raises(RecombineError, match="evaluate_vectors"):
        recombine.evaluate(tmp_path / "said.parquet", factors=FACTORS, target="y", prediction="said", split="split")
