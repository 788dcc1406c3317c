"""Reading predictions: from any table, with every kind of answer, and with every mistake explained."""

import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pytest

import recombine
from recombine import IntervalSettings, Score, SplitColumn
from recombine.base.errors import ColumnError, RecombineError, SettingError, TableError
from recombine.verbs.evaluate.evaluation import evaluate
from tests.evaluate.twins import predictions

FACTORS = ["colour", "shape"]
FEW = IntervalSettings(draws=200)
FRAME = predictions()
TEST = FRAME[FRAME.split == "test"]
TRAIN = FRAME[FRAME.split == "train"]


def found(source=FRAME, **given):
    settings = {"factors": FACTORS, "target": "label", "prediction": "said", "split": "split", "intervals": FEW}
    return evaluate(source, **settings | given)


def complaint(kind: type[RecombineError], source=FRAME, **given) -> str:
    with pytest.raises(kind) as caught:
        found(source, **given)
    return str(caught.value)


BASE = found()


@pytest.mark.slow
def test_every_kind_of_table_gives_the_same(tmp_path):
    FRAME.to_parquet(tmp_path / "p.parquet")
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    for table in (tmp_path / "p.parquet", str(tmp_path / "p.csv"), pl.from_pandas(FRAME), FRAME.to_dict("list")):
        assert found(table).sides == BASE.sides


def test_a_training_table_is_as_good_as_a_split():
    assert found(TEST, split=None, train=TRAIN).sides == BASE.sides
    bare = found(TEST, split=None, train=TRAIN[FACTORS])
    assert bare.sides == BASE.sides
    assert bare.anatomy is None  # without its answers nobody knows what training taught


def test_answers_in_a_table_of_their_own(tmp_path):
    answers = FRAME[["id", "said"]].sample(frac=1, random_state=0)
    data = FRAME.drop(columns=["said", "said_b"])
    assert found(answers, data=data, id="id").sides == BASE.sides


def test_rows_without_a_prediction_are_told():
    holes = FRAME.copy()
    holes.loc[TEST.index[:7], "said"] = None
    some = found(holes)
    assert some.outcomes.left_out == {"the prediction is missing": 7}
    assert some.side("all").rows == BASE.side("all").rows - 7
    assert any("In 7 tested rows the prediction is missing" in reason for reason in some.reasons)
    fewer = found(FRAME[["id", "said"]].drop(index=TEST.index[:7]), data=FRAME.drop(columns="said"), id="id")
    assert fewer.outcomes.left_out == {"the prediction is missing": 7}
    more = pd.concat([FRAME[["id", "said"]], pd.DataFrame({"id": [10**6], "said": ["x"]})])
    stray = found(more, data=FRAME.drop(columns="said"), id="id")
    assert any("1 of 601 rows of the prediction table have an id" in reason for reason in stray.reasons)


def test_rows_that_cannot_be_scored_are_counted_by_reason():
    holes = FRAME.copy()
    holes.loc[TEST.index[:3], "label"] = None
    holes.loc[TEST.index[3:5], "colour"] = None
    holes.loc[TEST.index[5:9], "split"] = "validation"
    holes.loc[TEST.index[9:11], "split"] = "spare"
    assert found(holes).outcomes.left_out == {
        "the true answer is missing": 3,
        "a factor is missing": 2,
        "on the validation side": 4,
        "on no side of the split": 2,
    }


def test_the_seen_side_of_a_written_split_is_tested():
    worded = FRAME.assign(split=FRAME.split.where(FRAME.split == "train", np.where(FRAME.id % 2, "seen", "test")))
    assert found(worded).sides == BASE.sides


def test_sides_can_be_named():
    folds = FRAME.assign(split=np.where(FRAME.split == "train", 0, 7))
    assert found(folds, split=SplitColumn("split", train=["0"], test=["7"])).sides == BASE.sides


@pytest.mark.slow
def test_labels_may_be_typed_in_another_way():
    numbered = FRAME.assign(label=FRAME.label.map({"x": 0, "y": 1, "z": 2}))
    numbered["said"] = FRAME.said.map({"x": 0, "y": 1, "z": 2})
    assert found(numbered).side("all").score == BASE.side("all").score
    assert found(numbered.assign(said=numbered.said.astype(str))).side("all").score == BASE.side("all").score
    truth = found(FRAME.assign(said=FRAME.p_yes > 0.4), target="yes")
    assert found(FRAME.assign(said=(FRAME.p_yes > 0.4).astype(int)), target="yes").sides == truth.sides
    as_floats = found(numbered.assign(said=numbered.said.astype(float)), score="accuracy")
    assert as_floats.side("all").score == BASE.side("all").score


def test_few_whole_numbers_against_fractions_are_numbers_and_it_is_said():
    graded = FRAME.assign(label=FRAME.label.map({"x": 1, "y": 2, "z": 3}), said=FRAME.guess)
    some = found(graded)
    assert some.score.name == "mse"
    assert any("compared as numbers" in reason for reason in some.reasons)


def test_probabilities_that_do_not_sum_to_one():
    columns = {"x": "p_x", "y": "p_y", "z": "p_z"}
    said = complaint(ColumnError, FRAME.assign(p_x=FRAME.p_x * 0.5), prediction=columns)
    assert "the probabilities p_x, p_y and p_z do not sum to one in" in said
    said = complaint(ColumnError, FRAME.assign(p_x=FRAME.p_x - 1), prediction=columns)
    assert "is below 0 or above 1" in said
    said = complaint(ColumnError, FRAME.assign(p_x=FRAME.p_x + FRAME.p_z), prediction={"x": "p_x", "y": "p_y"})
    assert "the target 'label' is 'z' in" in said
    assert "no probability was given for that class" in said


def test_one_probability_needs_two_classes():
    said = complaint(ColumnError, prediction="p_x", score="logloss")
    assert "one column of probabilities is enough for two classes only" in said
    some = found(prediction="p_yes", target="yes", score="logloss")
    assert any("'p_yes' is taken as the probability of 'true'" in reason for reason in some.reasons)


def test_infinite_and_missing_numbers():
    wild = FRAME.copy()
    wild.loc[TEST.index[:2], "guess"] = np.inf
    said = complaint(ColumnError, wild, target="value", prediction="guess")
    assert "the prediction 'guess' is infinite in 2 rows" in said
    wild.loc[TEST.index[:2], "guess"] = np.nan
    assert found(wild, target="value", prediction="guess").outcomes.left_out == {"the prediction is missing": 2}
    wild.loc[TEST.index[:2], ["value", "guess"]] = np.inf, 0.0
    assert "the target 'value' is infinite" in complaint(ColumnError, wild, target="value", prediction="guess")


def test_answers_of_another_kind():
    said = complaint(ColumnError, prediction="guess")
    assert "the prediction 'guess' holds float64, the target 'label' string" in said
    assert "both are labels or both are numbers" in said
    said = complaint(ColumnError, target="value", prediction="said")
    assert "the prediction 'said' holds string" in said
    other = FRAME.assign(said=FRAME.said.str.upper())
    assert "no label of 'said' is a class of 'label': it holds 'X', 'Y' and 'Z'" in complaint(ColumnError, other)


def test_duplicated_ids():
    twice = pd.concat([FRAME, FRAME.tail(3)])
    assert "the id 'id' is not unique: 3 rows repeat one" in complaint(ColumnError, twice, id="id")
    answers = pd.concat([FRAME[["id", "said"]], FRAME[["id", "said"]].head(2)])
    said = complaint(ColumnError, answers, data=FRAME.drop(columns="said"), id="id")
    assert "2 rows repeat one, such as '0'" in said


def test_ids_that_nobody_has():
    other = FRAME[["id", "said"]].assign(id=FRAME.id + 10**6)
    said = complaint(TableError, other, data=FRAME.drop(columns="said"), id="id")
    assert "no id of the prediction table is in" in said


def test_two_tables_need_an_id():
    assert "two tables without an id" in complaint(SettingError, FRAME[["id", "said"]], data=FRAME)


def test_wrong_columns_are_told_with_the_nearest():
    assert "did you mean 'said'?" in complaint(ColumnError, prediction="siad")
    assert "did you mean 'label'?" in complaint(ColumnError, target="lable")
    assert "did you mean 'colour'?" in complaint(ColumnError, factors=["color", "shape"])
    assert "did you mean 'accuracy'?" in complaint(ColumnError, score="acuracy")
    assert "did you mean 'split'?" in complaint(ColumnError, split="spilt")


def test_settings_that_contradict_each_other():
    assert "both train and split were given" in complaint(SettingError, train=TRAIN)
    assert "no prediction was named" in complaint(SettingError, prediction=None)
    assert "no target was named" in complaint(SettingError, target=None)
    assert "both the target and the prediction" in complaint(SettingError, prediction="label")
    assert "it is for a score of your own" in complaint(SettingError, score=Score("accuracy", "lower"))
    assert "draws=5" in complaint(SettingError, intervals=IntervalSettings(draws=5))
    assert "confidence=95" in complaint(SettingError, intervals=IntervalSettings(confidence=95))
    assert "it is for numbers" in complaint(SettingError, prediction={"x": "p_x", "y": "p_y"}, score="mse")
    assert "theory was given a int" in complaint(SettingError, theory=3)


def test_a_setting_that_there_is_not():
    assert "write intervals=IntervalSettings(" in complaint(SettingError, draws=200)
    assert "write split=SplitColumn(" in complaint(SettingError, test_side=["test"])
    assert "write score=Score(" in complaint(SettingError, better="lower")
    assert "did you mean 'where'?" in complaint(SettingError, wher="colour = 'r'")


def test_a_known_score_may_say_which_way_is_better():
    assert found(score=Score("accuracy", "higher")).sides == BASE.sides


def test_a_split_without_a_test_side():
    said = complaint(ColumnError, FRAME.assign(split=FRAME.split.replace("test", "later")))
    assert "no value of 'split' is the test side: it holds 'later', 'train'" in said


def test_bins_of_two_tables_need_edges():
    aged = FRAME.assign(age=FRAME.value)
    given = {"factors": ["colour", "age"], "split": None, "train": aged[aged.split == "train"]}
    said = complaint(SettingError, aged[aged.split == "test"], bins={"age": 4}, **given)
    assert "each table would be cut at edges of its own" in said
    edges = found(aged[aged.split == "test"], bins={"age": [-10, 0, 10]}, **given)
    assert edges.side("all").rows == BASE.side("all").rows


def test_a_class_that_training_never_had():
    new = FRAME.copy()
    new.loc[TEST.index[:4], "label"] = "new"
    some = found(new)
    assert any("'new' never occurs as label in training: its 4 tested rows" in reason for reason in some.reasons)


def test_an_empty_unseen_set_is_unknown_and_said():
    both = found(TEST, split=None, train=FRAME)
    assert both.side("unseen").score is None
    assert both.side("unseen").low is None
    assert both.gap is None
    assert both.grade == "untested"
    assert both.verdict.startswith("Nothing is known about unseen combinations")


def test_what_was_claimed_unseen_but_was_trained_on_counts_as_seen():
    leak = TEST.groupby(FACTORS).head(1)
    leaky = found(TEST, split=None, train=pd.concat([TRAIN, leak]))
    assert leaky.side("unseen").rows == 0
    assert leaky.side("seen").rows == BASE.side("all").rows


def test_novel_values_are_a_side_of_their_own():
    bare = found(TEST, split=None, train=TRAIN[TRAIN.colour != "r"])
    assert bare.side("novel").rows == (TEST.colour == "r").sum()
    assert any("hold a value that was never in training" in reason for reason in bare.reasons)


def test_nothing_to_score():
    said = complaint(TableError, FRAME.assign(said=pd.array([None] * len(FRAME), dtype="string")))
    assert "can be scored" in said
    assert "the prediction is missing in" in said


def test_an_own_score_needs_neither_target_nor_prediction():
    own = FRAME.assign(dice=FRAME.p_x)
    some = found(own, target=None, prediction=None, score="dice")
    assert some.side("all").score == pytest.approx(TEST.p_x.mean())
    assert some.outcomes.kind == "score"
    assert "the score 'shape' is of type string" in complaint(ColumnError, own, score="shape")
    lower = found(own, target=None, prediction=None, score=Score("dice", "lower"))
    assert lower.gap.value == pytest.approx(-some.gap.value)


@pytest.mark.slow
def test_against_other_rows():
    said = complaint(TableError, TEST, split=None, train=TRAIN, against=TEST.head(50))
    assert "does not hold the same rows" in said
    assert "--id image" in said
    same = found(TEST, split=None, train=TRAIN, against=TEST.assign(said=TEST.said_b))
    column = found(against="said_b")
    by_id = found(against=FRAME[["id"]].assign(said=FRAME.said_b).sample(frac=1, random_state=1), id="id")
    assert same.against.sides == column.against.sides == by_id.against.sides
    part = found(against=FRAME[["id"]].assign(said=FRAME.said_b).drop(index=TEST.index[:9]), id="id")
    assert part.against.rows_without == 9


def test_a_database_gives_the_same(postgres):
    columns = ["id", "colour", "shape", "split", "label", "said", "value", "guess"]
    with psycopg.connect(postgres.uri) as connection:
        connection.execute("DROP TABLE IF EXISTS predictions")
        connection.execute(
            "CREATE TABLE predictions (id bigint, colour text, shape text, split text, label text, said text, "
            "value double precision, guess double precision)"
        )
        with connection.cursor().copy("COPY predictions FROM STDIN") as copy:
            for row in FRAME[columns].itertuples(index=False):
                copy.write_row(tuple(row))
    assert found(postgres.uri, table="predictions").sides == BASE.sides
    numbers = {"target": "value", "prediction": "guess"}
    there, here = found(postgres.uri, table="predictions", **numbers), found(**numbers)
    assert there.side("unseen").score == pytest.approx(here.side("unseen").score, rel=1e-12)


def test_public_names():
    assert recombine.evaluate is evaluate


def test_training_of_which_no_row_can_be_used_is_not_taken_for_none() -> None:
    rows = {
        "a": [None, "x", "y", "x"],
        "b": ["p", "p", "q", "q"],
        "y": ["k", "k", "l", "l"],
        "said": ["k", "k", "k", "l"],
    }
    table = rows | {"split": ["train", "test", "test", "test"]}
    with pytest.raises(TableError, match=r"no training row of .* holds a whole combination"):
        evaluate(table, factors=["a", "b"], target="y", prediction="said", split="split")
