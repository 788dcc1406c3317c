"""Updating, computing, history, the page, a run in a store; and every mistake in words."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pytest
import torch

import recombine
from recombine import RecombineError, Scoreboard
from recombine_lab import run_of
from recombine_lab.runs.store import Store

NAMES = ["cat", "dog", "emu"]


def table(rows: int, seed: int, hidden: bool) -> pa.Table:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, size=(rows, 2))
    if hidden:
        codes = codes[(codes.sum(axis=1) % 4) != 1]
    return pa.table(
        {
            "row": [f"r{place}" for place in range(len(codes))],
            "place": [["sea", "wood", "town", "ice"][code] for code in codes[:, 0]],
            "light": codes[:, 1],
            "animal": [NAMES[(a + b) % 3] for a, b in codes.tolist()],
            "weight": codes @ [1.0, 2.0] + rng.normal(size=len(codes)),
        }
    )


TRAIN, TEST = table(400, 0, hidden=True), table(120, 1, hidden=False)
TRUTH = TEST["animal"].to_pylist()


def board(**given) -> Scoreboard:
    return Scoreboard(TEST, **({"factors": ["place", "light"], "target": "animal", "train": TRAIN} | given))


def places(labels: list[str]) -> list[int]:
    return [NAMES.index(label) for label in labels]


def said(wrong: int = 30) -> list[str]:
    return [NAMES[(NAMES.index(label) + 1) % 3] if k < wrong else label for k, label in enumerate(TRUTH)]


def one_hot(labels: list[str]) -> np.ndarray:
    return np.eye(3)[places(labels)]


@pytest.mark.parametrize(
    "given",
    [
        said(),
        np.array(said()),
        pa.array(said()),
        np.array(places(said())),
        np.array(places(said())).astype(np.float32),
        torch.tensor(places(said())),
        one_hot(said()),
        torch.tensor(one_hot(said()) * 3 - 1, dtype=torch.bfloat16, requires_grad=True),
        torch.tensor(one_hot(said()), dtype=torch.float16),
    ],
    ids=["list", "numpy", "arrow", "numbers", "whole floats", "torch", "logits", "bfloat16", "float16"],
)
def test_answers_of_every_kind_are_the_same_answers(given):
    expected = board()
    expected.update(said())
    ours = board(classes=NAMES)
    ours.update(given)
    assert ours.compute() == pytest.approx(expected.compute(), nan_ok=True)


def test_the_order_of_the_models_outputs_is_its_own():
    ours = board(classes=["emu", "cat", "dog", "yak"])
    ours.update(np.array([["emu", "cat", "dog", "yak"].index(label) for label in TRUTH]))
    assert ours.compute()["accuracy"] == 1.0
    ours.reset()
    ours.update(np.full(len(TEST), 3))  # a class that no row has is a wrong answer
    assert ours.compute()["accuracy"] == 0.0


def test_by_id_in_any_order():
    rng = np.random.default_rng(0)
    order = rng.permutation(len(TEST))
    ids, answers = np.array(TEST["row"].to_pylist()), np.array(said())
    ours, plain = board(id="row"), board()
    for part in np.array_split(order, 7):
        ours.update(answers[part], ids=ids[part])
        plain.update(answers[part], ids=torch.tensor(part))  # places in the table, where no id was named
    straight = board()
    straight.update(said())
    assert ours.compute() == pytest.approx(straight.compute(), nan_ok=True)
    assert plain.compute() == pytest.approx(straight.compute(), nan_ok=True)


def test_whole_numbers_as_ids_match_whatever_their_width():
    frame = TEST.set_column(0, "row", pa.array(np.arange(1000, 1000 + len(TEST)), pa.int32()))
    ours = Scoreboard(frame, factors=["place", "light"], target="animal", train=TRAIN, id="row")
    ours.update(TRUTH, ids=list(range(1000, 1000 + len(TEST))))
    assert ours.compute()["accuracy"] == 1.0


def test_rows_without_a_truth_or_a_factor_are_answered_and_not_scored():
    holes = TEST.set_column(1, "place", pa.array([None, *TEST["place"].to_pylist()[1:]]))
    holes = holes.set_column(3, "animal", pa.array([TRUTH[0], None, *TRUTH[2:]]))
    ours = Scoreboard(holes, factors=["place", "light"], target="animal", train=TRAIN)
    ours.update([said(0)[2], said(0)[2], *TRUTH[2:]])
    assert ours.compute()["accuracy"] == 1.0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_of_a_file_keep_their_order(tmp_path, ending):
    if ending == "csv":
        from pyarrow import csv  # noqa: PLC0415

        csv.write_csv(TEST, tmp_path / "rows.csv")
    else:
        import pyarrow.parquet as pq  # noqa: PLC0415

        pq.write_table(TEST, tmp_path / "rows.parquet", row_group_size=16)
    ours = Scoreboard(str(tmp_path / f"rows.{ending}"), factors=["place", "light"], target="animal", train=TRAIN)
    ours.update(said())
    straight = board()
    straight.update(said())
    assert ours.compute() == pytest.approx(straight.compute(), nan_ok=True)


def test_known_answers():
    perfect, hopeless = board(), board()
    perfect.update(TRUTH)
    hopeless.update([another(label) for label in TRUTH])
    assert (perfect.compute()["unseen_accuracy"], hopeless.compute()["unseen_accuracy"]) == (1.0, 0.0)
    assert perfect.compute()["gap"] == hopeless.compute()["gap"] == 0.0
    assert math.isnan(perfect.compute()["novel_accuracy"])  # there are none: not known, and not 0
    shortcut = board()  # right where the combination was seen and wrong elsewhere
    seen = set(zip(TRAIN["place"].to_pylist(), TRAIN["light"].to_pylist(), strict=True))
    pairs = zip(TEST["place"].to_pylist(), TEST["light"].to_pylist(), strict=True)
    shortcut.update([y if pair in seen else another(y) for y, pair in zip(TRUTH, pairs, strict=True)])
    assert shortcut.compute()["gap"] == 1.0


def another(label: str) -> str:
    return NAMES[(NAMES.index(label) + 1) % 3]


def decided(differing: int) -> Scoreboard:
    """A target that the place alone decides in training, but for so many rows."""
    kinds = ["dog" if place in ("sea", "ice") else "cat" for place in TRAIN["place"].to_pylist()]
    kinds[:differing] = [another(kind) for kind in kinds[:differing]]
    truth = pa.array(["dog" if place in ("sea", "ice") else "cat" for place in TEST["place"].to_pylist()])
    train = TRAIN.set_column(3, "animal", pa.array(kinds))
    return Scoreboard(
        TEST.set_column(3, "animal", truth), factors=["place", "light"], target="animal", train=train, unknown="wrong"
    )


@pytest.mark.parametrize("differing", [0, 1, 2])
def test_the_lift_does_not_turn_by_one_label(differing):
    """Where one factor decides the target no rule is told it, and with one label less all are."""
    ours = decided(differing)
    truth = ours._rows.table["animal"].to_pylist()
    found = ours.score([another(label) if k % 5 == 0 else label for k, label in enumerate(truth)])
    told = (found["lift"], found["unseen_best_rule_accuracy"], found["unseen_additive_accuracy"])
    if differing:
        assert told == pytest.approx((found["unseen_accuracy"] - 1, 1.0, 1.0))
        assert (ours.best_rule, "lift" in ours.reasons) == ("additive (by rows)", False)
    else:
        assert all(map(math.isnan, told))
        assert ours.best_rule is None
        assert ours.reasons["lift"].startswith("place alone decides the target in every row")
    assert found["unseen_majority_accuracy"] > 0


@pytest.mark.parametrize(
    ("place", "light", "words"),
    [
        (str.upper, None, "no value of place ('ICE' here, 'ice' in training) that"),
        (str.upper, lambda light: light + 10, "('ICE' here, 'ice' in training) and none of light ('10' here, '0' in"),
        (None, None, None),
        (lambda place: "ice" if place == "ice" else place.upper(), None, None),
    ],
    ids=["one factor", "every factor", "none", "one value is shared"],
)
def test_rows_that_share_no_value_with_training_are_told_at_the_first_epoch(place, light, words):
    rows = {"animal": TRUTH}
    for name, change in (("place", place), ("light", light)):
        rows[name] = [value if change is None else change(value) for value in TEST[name].to_pylist()]
    ours = Scoreboard(rows, factors=["place", "light"], target="animal", train=TRAIN)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ours.score(said(), epoch=1)
        ours.score(said(), epoch=2)
    told = [str(one.message) for one in caught]
    if words is None:
        assert told == []
        return
    assert len(told) == 1
    assert words in told[0]
    assert "every row counts as novel" in told[0]
    assert (found["novel_accuracy"], math.isnan(found["gap"])) == (0.75, True)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.decimal128(5, 2)])
def test_a_factor_of_four_fractions_is_a_factor(kind):
    doses = {0: 0.25, 1: 0.5, 2: 1.5, 3: 2.0}

    def dosed(rows: pa.Table) -> pa.Table:
        return rows.set_column(2, "light", pa.array([doses[k] for k in rows["light"].to_pylist()]).cast(kind))

    ours = Scoreboard(dosed(TEST), factors=["place", "light"], target="animal", train=dosed(TRAIN))
    assert ours.score(said()) == pytest.approx(board().score(said()), nan_ok=True)


def test_history_keeps_every_epoch_and_computing_twice_notes_once():
    ours = board()
    for epoch in range(3):
        ours.reset()
        ours.update(said(60 - 20 * epoch))
        assert ours.compute(step=10 * epoch, epoch=epoch) == pytest.approx(ours.compute(), nan_ok=True)
    history = ours.history
    assert history["step"].to_pylist() == [0, 10, 20]
    assert history["accuracy"].to_pylist() == pytest.approx([1 - k / len(TEST) for k in (60, 40, 20)])


def test_numbers():
    ours = board(target="weight")
    ours.update(torch.tensor(TEST["weight"].to_pylist())[:, None] + 0.5)
    found = ours.compute()
    assert found["mse"] == pytest.approx(0.25, rel=1e-5)
    assert found["seen_r2"] < 1
    assert {"unseen_mean_mse", "unseen_additive_mse", "unseen_best_rule_mse", "worst_group_mse"} <= found.keys()


def test_the_page(tmp_path):
    ours = board()
    for epoch in range(4):
        ours.reset()
        ours.update(said(90 - 30 * epoch))
        ours.compute(epoch=epoch)
    written = ours.page(tmp_path / "board.html").read_text()
    assert "Over training" in written
    assert ours.evaluation().verdict[:40] in written


def test_a_run_beside_others_in_a_store(tmp_path):
    for wrong in (60, 10):
        ours = board()
        ours.update(said(wrong))
        ours.compute(step=100)
        run = run_of(ours, tmp_path / "runs", model={"name": "mine", "wrong": wrong}, task="animals")
    store = Store.open(tmp_path / "runs")
    assert sorted(store.table()["unseen.score"].to_pylist()) != [1.0, 1.0]
    loaded = store.get(run.key)
    assert loaded.steps == 100
    whole = ours.evaluation(causes=False)
    assert loaded.evaluate(causes=False).side("unseen").score == whole.side("unseen").score
    assert loaded.audit().verdict


def kept(place, answers, *, rows=TEST, train=TRAIN, force=False):
    ours = Scoreboard(rows, factors=["place", "light"], target="animal", train=train)
    ours.score(answers, epoch=1)
    return run_of(ours, place, model="mine", force=force)


def test_other_data_are_another_run(tmp_path):
    runs = [
        kept(tmp_path, said()),
        kept(tmp_path, said()[:80], rows=TEST.slice(0, 80)),
        kept(tmp_path, said(), train=TRAIN.slice(0, 200)),
    ]
    assert Store.open(tmp_path).keys() == {run.key for run in runs}
    assert len({run.key for run in runs}) == 3
    turned = list(range(len(TEST)))[::-1]
    assert kept(tmp_path, said()[::-1], rows=TEST.take(turned)).key == runs[0].key  # another order is not other data


def test_a_run_with_other_answers_is_never_dropped_silently(tmp_path):
    first = kept(tmp_path, said(30))
    assert kept(tmp_path, said(30)).key == first.key
    wrong(lambda: kept(tmp_path, said(10)), "'mine' with seed 0", "other answers", "force=True")
    assert Store.open(tmp_path).get(first.key).metrics == first.metrics
    again = kept(tmp_path, said(10), force=True)
    assert again.key == first.key
    assert Store.open(tmp_path).get(first.key).metrics == again.metrics != first.metrics


def test_rows_that_cannot_be_scored_are_counted():
    rows = TEST.set_column(1, "place", pa.array([None] * 30 + TEST["place"].to_pylist()[30:]))
    ours = Scoreboard(rows, factors=["place", "light"], target="animal", train=TRAIN)
    assert repr(ours) == "Scoreboard(120 rows: 0 answered, 30 left out for a missing factor or target)"
    assert ours.score(TRUTH)["left_out"] == ours.left_out == 30
    assert board().score(TRUTH)["left_out"] == 0


def test_classes_must_name_every_class_of_the_tables():
    wrong(lambda: board(classes=["cat", "dog"]), "leaves out 'emu'", "3 classes")
    assert board(classes=[*NAMES, "fox"]).score(one_hot(TRUTH) @ np.eye(3, 4))["accuracy"] == 1.0


def wrong(call, *words: str) -> None:
    with pytest.raises(RecombineError) as caught:
        call()
    said = str(caught.value)
    assert all(word in said for word in words), said
    assert caught.value.why
    assert caught.value.instead


def test_more_answers_than_rows():
    ours = board()
    ours.update(TRUTH)
    wrong(lambda: ours.update(["cat"]), "1 more answers after 120", "120 rows", "reset()")


def test_fewer_answers_than_rows():
    ours = board()
    ours.update(TRUTH[:100])
    wrong(ours.compute, "20 of 120 rows have no answer yet")
    wrong(ours.evaluation, "20 of 120")


def test_ids_unknown_twice_or_mixed():
    ours = board(id="row")
    wrong(lambda: ours.update(["cat", "cat"], ids=["r0", "r999"]), "no row has the id r999")
    wrong(lambda: ours.update(["cat", "cat"], ids=["r1", "r1"]), "the id r1 was answered before")
    ours.update(["cat"], ids=["r5"])
    wrong(lambda: ours.update(["cat"], ids=["r5"]), "the id r5 was answered before")
    wrong(lambda: ours.update(["cat"]), "answers with ids and without")
    wrong(lambda: board().update(["cat"], ids=[120]), "no row has the id 120", "id='…'")
    wrong(lambda: ours.update(["cat"], ids=["r1", "r2"]), "1 answers and ids of shape")


def test_a_class_never_heard_of():
    wrong(
        lambda: board().update(["yak"] * 120), "'yak' is none of the classes 'cat', 'dog' and 'emu'", "unknown='wrong'"
    )
    wrong(lambda: board().update(places(TRUTH)), "a class's number is not its name", "classes=[…]")
    wrong(lambda: board(classes=NAMES).update([3] * 120), "class number 3 of 3 classes")
    ours = board(unknown="wrong")
    ours.update(["a yak, I believe"] * 120)
    assert ours.compute()["accuracy"] == 0.0


def test_logits_that_do_not_fit():
    wrong(lambda: board().update(one_hot(TRUTH)), "not told which number is which class's", "classes=[…]")
    wrong(lambda: board(classes=[*NAMES, "yak"]).update(one_hot(TRUTH)), "3 numbers a row, and there are 4 classes")
    wrong(lambda: board(classes=NAMES).update(np.zeros((120, 1))), "120 × 1", "(logits > 0)")
    wrong(lambda: board(classes=NAMES).update(np.zeros((2, 3, 4))), "2 × 3 × 4")


def test_nan_and_fractions():
    logits = one_hot(TRUTH)
    logits[7, 1] = np.nan
    wrong(lambda: board(classes=NAMES).update(logits), "1 of 120 answers are NaN", "place 7")
    wrong(lambda: board(classes=NAMES).update(np.full(120, 0.3)), "0.3 is no class")
    wrong(lambda: board(target="weight").update([np.inf] * 120), "not finite")
    wrong(lambda: board(target="weight").update(["heavy"] * 120), "the target is a number")
    wrong(lambda: board().update([None, "cat"]), "missing")


def test_nothing_of_a_refused_batch_is_kept():
    ours = board(target="weight")
    wrong(lambda: ours.update([1.0, np.nan]), "not finite")
    assert ours.missing == 120


def test_settings_that_mean_nothing():
    wrong(lambda: board(score="logloss"), "score='logloss'")
    wrong(lambda: board(unknown="skip"), "unknown")
    wrong(lambda: board(target="animl"), "animl", "animal")
    wrong(lambda: board(id="animal"), "not unique")
    wrong(lambda: board(bin={}), "bin")
    ours = board()
    ours.update(TRUTH)
    wrong(lambda: run_of(ours, model=3), "model=3")


@pytest.mark.process
def test_nothing_heavy_is_loaded():
    code = "import sys; from recombine import Scoreboard; print([m for m in ('torch','sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bool_labels_answered_by_numbers():
    frame = TEST.append_column("hot", pa.array([label == "cat" for label in TRUTH]))
    train = TRAIN.append_column("hot", pa.array([label == "cat" for label in TRAIN["animal"].to_pylist()]))
    ours = Scoreboard(frame, factors=["place", "light"], target="hot", train=train)
    ours.update(np.array([label == "cat" for label in TRUTH]).astype(int))
    assert ours.compute()["accuracy"] == 1.0


def test_the_worst_group_holds_the_class():
    ours = board(factors=["place", "animal"])
    ours.update(said())
    whole = recombine.evaluate(
        ours.answers(), factors=["place", "animal"], target="animal", prediction="prediction", train=TRAIN
    )
    assert ours.compute()["worst_group_accuracy"] == whole.group.score


def test_numbers_of_double_precision_keep_their_digits():
    ours = board(target="weight")
    ours.update(torch.tensor(TEST["weight"].to_pylist(), dtype=torch.float64))
    assert ours.compute()["mse"] == 0.0


def test_a_hugging_face_dataset_as_the_table():
    datasets = pytest.importorskip("datasets")
    found = Scoreboard(
        datasets.Dataset.from_dict(TEST.to_pydict()),
        factors=["place", "light"],
        target="animal",
        train=datasets.Dataset.from_dict(TRAIN.to_pydict()),
    )
    straight = board()
    assert found.score(said()) == pytest.approx(straight.score(said()), nan_ok=True)


def test_the_truth_that_a_trainer_has_is_held_against_the_tables():
    ours = board(classes=NAMES)
    ours.update(one_hot(TRUTH)[:60], truth=places(TRUTH)[:60])
    wrong(
        lambda: ours.update(one_hot(TRUTH)[60:], truth=places(TRUTH)[59:-1]), "another truth in the table", "give ids"
    )
