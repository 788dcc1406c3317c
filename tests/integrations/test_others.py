"""scikit-learn, Keras and torchmetrics: each filled by the real package, and each equal to the evaluation."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import recombine
from recombine import RecombineError
from tests.integrations import worlds

FRAME = pd.DataFrame(worlds.table(240, 2, unseen=True))
INPUTS = pd.get_dummies(FRAME[worlds.FACTORS])


def test_a_scorer_in_cross_validation():
    from sklearn.model_selection import cross_validate  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    from recombine.integrations.sklearn import UnseenScorer  # noqa: PLC0415

    folds = recombine.CombinationKFold(worlds.FACTORS, n_splits=3, table=FRAME)
    scorer = UnseenScorer(FRAME, factors=worlds.FACTORS, target="label")
    model = DecisionTreeClassifier(random_state=0)
    found = cross_validate(
        model, INPUTS, FRAME["label"], cv=folds, scoring=scorer, return_indices=True, error_score="raise"
    )
    for fold, score in enumerate(found["test_unseen_accuracy"]):
        train, test = (found["indices"][side][fold] for side in ("train", "test"))
        fitted = model.fit(INPUTS.iloc[train], FRAME["label"].iloc[train])
        said = FRAME.iloc[test].assign(said=fitted.predict(INPUTS.iloc[test]))
        whole = recombine.evaluate(
            said,
            factors=worlds.FACTORS,
            target="label",
            prediction="said",
            train=FRAME.iloc[train],
            causes=False,
        )
        assert score == pytest.approx(whole.side("unseen").score, abs=1e-12)


def test_a_scorer_needs_to_recognise_rows():
    from recombine.integrations.sklearn import UnseenScorer  # noqa: PLC0415

    scorer = UnseenScorer(FRAME, factors=worlds.FACTORS, target="label")
    with pytest.raises(RecombineError, match="X is a ndarray"):
        scorer.board(None, INPUTS.to_numpy())
    with pytest.raises(RecombineError, match="is not in the scorer's table"):
        scorer.board(None, INPUTS.set_index(INPUTS.index + 1000))


@pytest.mark.parametrize("index", ["of y", "none"])
def test_a_scorer_knows_the_rows_of_an_array(index):
    """By the index of y, or by what they hold: here many rows are equal, and some have another label."""
    from sklearn.model_selection import cross_validate  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    from recombine.integrations.sklearn import UnseenScorer  # noqa: PLC0415

    frame = FRAME.assign(label=np.where(np.arange(len(FRAME)) % 7 == 0, "cold", FRAME["label"]))
    folds = recombine.CombinationKFold(worlds.FACTORS, n_splits=3, table=frame)
    y, array = frame["label"], INPUTS.to_numpy()

    def scores(inputs, y, **given):
        scorer = UnseenScorer(frame, factors=worlds.FACTORS, target="label", **given)
        return cross_validate(DecisionTreeClassifier(random_state=0), inputs, y, cv=folds, scoring=scorer)

    found = scores(array, y) if index == "of y" else scores(array, y.to_numpy(), X=array)
    expected = scores(INPUTS, y)
    for name in ("test_unseen_accuracy", "test_lift"):
        assert found[name] == pytest.approx(expected[name], nan_ok=True)
    assert np.isfinite(found["test_unseen_accuracy"]).all()


def test_arrays_that_tell_no_rows_apart_are_refused_at_once():
    from recombine.integrations.sklearn import UnseenScorer  # noqa: PLC0415

    def made(X):  # noqa: N803
        return UnseenScorer(FRAME, factors=worlds.FACTORS, target="label", X=X)

    with pytest.raises(RecombineError, match=r"shape \(10, 8\), and the table has 240 rows"):
        made(INPUTS.to_numpy()[:10])
    with pytest.raises(RecombineError, match="of X are equal, and the table has other factors there"):
        made(np.zeros((240, 2)))
    with pytest.raises(RecombineError, match="row 0 of the array is not in the scorer's X"):
        made(INPUTS.to_numpy()).board(None, np.full((2, 8), 7), ["warm", "warm"])


def fitted_tree():
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    return DecisionTreeClassifier(random_state=0).fit(INPUTS, FRAME["label"])


def test_a_scorer_refuses_a_y_that_is_not_its_tables():
    """Shuffled and with a new index, X names other rows than it holds."""
    from recombine.integrations.sklearn import UnseenScorer  # noqa: PLC0415

    scorer = UnseenScorer(FRAME, factors=worlds.FACTORS, target="label")
    half = FRAME.index[(FRAME[worlds.FACTORS] == FRAME[worlds.FACTORS].iloc[0]).all(axis=1)]
    scorer(fitted_tree(), INPUTS.loc[half], FRAME["label"].loc[half])
    mixed = np.random.default_rng(0).permutation(len(FRAME))
    X, y = (part.iloc[mixed].reset_index(drop=True)[: len(half)] for part in (INPUTS, FRAME["label"]))  # noqa: N806
    with pytest.raises(RecombineError, match="y is not the target of the scorer's table"):
        scorer.board(fitted_tree(), X, y)
    with pytest.warns(UserWarning, match="y is not the target of the scorer's table"):
        assert np.isnan(scorer(fitted_tree(), X, y)["unseen_accuracy"])


def test_a_scorer_says_that_nothing_unseen_is_asked():
    from recombine.integrations.sklearn import UnseenScorer  # noqa: PLC0415

    scorer = UnseenScorer(FRAME, factors=worlds.FACTORS, target="label")
    again = FRAME.duplicated(worlds.FACTORS).to_numpy()  # of each combination one row stays in training
    with pytest.warns(UserWarning, match="is of an unseen combination.*takes the first candidate"):
        found = scorer(fitted_tree(), INPUTS[again], FRAME["label"][again])
    assert np.isnan(found["unseen_accuracy"])


@pytest.mark.parametrize("moments", [1, 3])
def test_the_display_draws_what_was_computed(moments):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from recombine.integrations.sklearn import ScoreboardDisplay  # noqa: PLC0415

    board = worlds.board()
    with pytest.raises(RecombineError, match="nothing to draw"):
        ScoreboardDisplay.from_board(board).plot()
    for epoch in range(moments):
        board.score(worlds.EVAL["label"], epoch=epoch)
    drawn = ScoreboardDisplay.from_board(board).plot()
    assert drawn.ax_.get_ylabel() == "accuracy"
    drawn.figure_.canvas.draw()


def test_keras():
    keras = pytest.importorskip("keras")
    from recombine.integrations.keras import ScoreboardCallback  # noqa: PLC0415

    keras.utils.set_random_seed(0)
    x = np.eye(4, dtype=np.float32)

    def inputs(rows):
        known = (np.array(["red", "green", "blue", "white"]), np.array(["disc", "bar", "cross", "frame"]))
        parts = zip(("colour", "shape"), known, strict=True)
        return np.concatenate([x[[list(names).index(value) for value in rows[name]]] for name, names in parts], axis=1)

    board = worlds.board()
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    truth = np.array([worlds.CLASSES.index(label) for label in worlds.TRAIN["label"]])
    asked = inputs(worlds.EVAL)
    stopping = keras.callbacks.EarlyStopping("val_unseen_accuracy", mode="max", patience=50)
    fitted = model.fit(
        inputs(worlds.TRAIN), truth, epochs=2, verbose=0, callbacks=[ScoreboardCallback(board, asked), stopping]
    )
    expected = worlds.whole(model.predict(asked, verbose=0).argmax(axis=1))
    assert fitted.history["val_unseen_accuracy"][-1] == pytest.approx(expected["unseen_accuracy"], abs=1e-12)
    assert board.history["epoch"].to_pylist() == [1, 2]
    with pytest.raises(RecombineError, match="x has 40 rows, and the scoreboard's table 96"):
        model.fit(inputs(worlds.TRAIN), truth, verbose=0, callbacks=[ScoreboardCallback(board, asked[:40])])
    assert board.history.num_rows == 2


def test_torchmetrics_in_a_collection():
    torchmetrics = pytest.importorskip("torchmetrics")
    from recombine.integrations.torchmetrics import ScoreboardMetric  # noqa: PLC0415

    truth = torch.tensor([worlds.CLASSES.index(label) for label in worlds.EVAL["label"]])
    said = torch.where(torch.arange(len(truth)) % 4 == 0, 1 - truth, truth)
    metrics = torchmetrics.MetricCollection(
        {"all": torchmetrics.Accuracy(task="binary"), "board": ScoreboardMetric(worlds.board())}
    )
    for _ in range(2):
        for start in range(0, len(truth), 20):
            metrics.update(said[start : start + 20], truth[start : start + 20])
        found = metrics.compute()
        expected = worlds.whole(said.tolist())
        assert float(found["all"]) == pytest.approx(float(found["accuracy"]))
        assert {name: float(found[name]) for name in expected} == pytest.approx(expected, abs=1e-12)
        metrics.reset()


BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
try:
    __import__(f"recombine.integrations.{sys.argv[1]}")
except ImportError as error:
    print(error)
"""


@pytest.mark.process
@pytest.mark.parametrize("package", ["transformers", "lightning", "keras", "torchmetrics", "wandb"])
def test_a_missing_package_is_named_with_its_extra(package):
    done = subprocess.run([sys.executable, "-c", BLOCKED, package], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(f"pip install 'recombine[{package}]'")
    assert done.stdout.startswith(f"recombine.integrations.{package} needs ")


def test_entry_points_name_what_is_there():
    """What other packages look for by itself: Lightning's callbacks and MLflow's evaluators."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for group in ("lightning.pytorch.callbacks_factory", "mlflow.model_evaluator"):
        module, _, name = project["entry-points"][group]["recombine"].partition(":")
        assert callable(getattr(importlib.import_module(module), name))
