"""An exception is planted in the scoreboard of each trainer: one warning in words, and training goes on to its end."""

import math
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

import recombine
from recombine.base.errors import SettingError
from recombine.integrations.failsafe import Failsafe
from tests.integrations import worlds

EPOCHS = 3
PLACES = np.array([worlds.CLASSES.index(label) for label in worlds.EVAL["label"]])


def planted(at: int, error: Exception):
    """A scoreboard that fails from some evaluation on."""
    board, computed = worlds.board(), []
    plain = board.compute

    def compute(**when):
        computed.append(when)
        if len(computed) >= at:
            raise error
        return plain(**when)

    board.compute = compute
    return board


def by_transformers(board, folder) -> int:
    pytest.importorskip("accelerate")
    transformers = pytest.importorskip("transformers")
    from recombine.integrations.transformers import ScoreboardCallback, compute_metrics  # noqa: PLC0415

    steps = {
        f"{kind}_{what}": value for kind in ("eval", "save") for what, value in (("strategy", "steps"), ("steps", 1))
    }
    made = transformers.Trainer(
        model=worlds.bert(),
        args=transformers.TrainingArguments(
            str(folder),
            max_steps=EPOCHS,
            metric_for_best_model="unseen_accuracy",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            **steps,
        ),
        train_dataset=worlds.Rows(worlds.TRAIN, "sentences"),
        eval_dataset=worlds.Rows(worlds.EVAL, "sentences"),
        compute_metrics=compute_metrics(board),
        callbacks=[ScoreboardCallback(board)],
    )
    made.train()
    return made.state.global_step


def by_lightning(board, folder) -> int:
    pl = pytest.importorskip("lightning.pytorch")
    from recombine.integrations.lightning import ScoreboardCallback  # noqa: PLC0415
    from tests.integrations.test_lightning import Classifier, loader, trainer  # noqa: PLC0415

    kept = pl.callbacks.ModelCheckpoint(str(folder), monitor="val_unseen_accuracy", mode="max")
    made = trainer([ScoreboardCallback(board), kept], max_epochs=EPOCHS, enable_checkpointing=True)
    made.fit(Classifier(), loader(worlds.EVAL), loader())
    return made.current_epoch


def by_keras(board, folder) -> int:
    keras = pytest.importorskip("keras")
    from recombine.integrations.keras import ScoreboardCallback  # noqa: PLC0415

    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = np.zeros((len(PLACES), 2), dtype=np.float32)
    callbacks = [
        ScoreboardCallback(board, x),
        keras.callbacks.EarlyStopping("val_unseen_accuracy", mode="max", patience=9),
    ]
    return len(model.fit(x, PLACES, epochs=EPOCHS, verbose=0, callbacks=callbacks).epoch)


def by_torchmetrics(board, folder) -> int:
    torchmetrics = pytest.importorskip("torchmetrics")
    from recombine.integrations.torchmetrics import ScoreboardMetric  # noqa: PLC0415

    metrics = torchmetrics.MetricCollection({"a": torchmetrics.Accuracy(task="binary"), "b": ScoreboardMetric(board)})
    for _ in range(EPOCHS):
        metrics.update(torch.tensor(PLACES), torch.tensor(PLACES))
        assert float(metrics.compute()["a"]) == 1.0
        metrics.reset()
    return EPOCHS


TRAINERS = [by_transformers, by_lightning, by_keras, by_torchmetrics]


def stops(caught) -> list[str]:
    return [str(one.message) for one in caught if "training goes on without it" in str(one.message)]


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("train", TRAINERS)
def test_a_failure_is_one_warning_and_training_goes_on(train, at, tmp_path):
    error = RuntimeError("planted\nbetween two lines") if at == 2 else SettingError("a", why="b", instead="c")
    board = planted(at, error)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert train(board, tmp_path) == EPOCHS
    words = "RuntimeError, planted" if at == 2 else "a (b; c)"
    assert stops(caught) == [f"The scoreboard has stopped, and training goes on without it: {words}."]
    assert board.history.num_rows == at - 1


def test_a_search_goes_on(monkeypatch):
    """The scores of scikit-learn's folds are NaN from the failure on; every candidate is fitted."""
    from sklearn.model_selection import GridSearchCV  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    from recombine.integrations import sklearn as ours  # noqa: PLC0415

    frame = pd.DataFrame(worlds.table(120, 2, unseen=True))
    scorer = ours.UnseenScorer(frame, factors=worlds.FACTORS, target="label")
    monkeypatch.setattr(ours.Scoreboard, "compute", lambda *_, **__: 1 / 0)
    search = GridSearchCV(
        DecisionTreeClassifier(),
        {"max_depth": [1, 2]},
        cv=recombine.CombinationKFold(worlds.FACTORS, n_splits=3, table=frame),
        scoring=scorer,
        refit="unseen_accuracy",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(pd.get_dummies(frame[worlds.FACTORS]), frame["label"])
    assert len(stops(caught)) == 1
    assert np.isnan(search.cv_results_["mean_test_unseen_accuracy"]).all()
    assert search.best_estimator_.max_depth == 1


def test_where_warnings_are_errors_training_goes_on_as_well(capsys):
    failsafe = Failsafe()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert failsafe(lambda: math.sqrt(-1)) is None
    assert "The scoreboard has stopped" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):  # who wants to stop can
        Failsafe()(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(SystemExit):
        Failsafe()(lambda: sys.exit(1))
