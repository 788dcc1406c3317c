"""A forecast with a rehearsal beside it: which of the two leads, and what is said of the other."""

import json
import re
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.decoding import revive
from recombine.base.errors import SettingError
from recombine.base.grades import Expected
from recombine.base.records import plain
from recombine.cli.app import app
from recombine.verbs.predict.expected_score import Rehearsed, _disagree

HOW = {"factors": ["a", "b"], "target": "y"}


def world(*, size=6, each=4, noise=0.15):
    """Inputs that say both factors, of which the first is the answer; a quarter of the pairs is unseen."""
    rng = np.random.default_rng(0)
    codes = np.array([pair for pair in product(range(size), repeat=2) for _ in range(each)])
    x = np.eye(size)[codes].reshape(len(codes), -1) + noise * rng.normal(size=(len(codes), 2 * size))
    unseen = codes.sum(axis=1) % 4 == 3
    table = pa.table(
        {
            "a": [f"a{code}" for code in codes[:, 0]],
            "b": [f"b{code}" for code in codes[:, 1]],
            "y": [f"y{code // 2}" for code in codes[:, 0]],
            "x": x.tolist(),
        }
    )
    return table.filter(pa.array(~unseen)), table.filter(pa.array(unseen)), table


SEEN, UNSEEN, EVERY = world()


class Majority:
    """A learner of one's own that is bad on purpose."""

    def fit(self, _, y):
        self.most = np.bincount(y).argmax()
        return self

    def predict(self, x):
        return np.full(len(x), self.most)


class TestWhoLeads:
    def test_ones_own_learner_leads(self) -> None:
        rehearsal = recombine.rehearse(SEEN, Majority(), **HOW)
        found = recombine.predict(SEEN, **HOW).with_rehearsal(rehearsal)
        plain = recombine.predict(SEEN, **HOW)
        assert found.rehearsed.leads
        assert (found.expected, found.grade, found.verdict) == (rehearsal.expected, rehearsal.grade, rehearsal.verdict)
        assert found.expected.basis == "rehearsal"
        assert plain.expected.value > 0.9 > found.expected.value
        assert any(reason.startswith("Forecast without a rehearsal: accuracy ") for reason in found.reasons)

    def test_no_label_ends_a_sentence(self) -> None:
        numbered = SEEN.set_column(
            SEEN.column_names.index("y"), "y", pa.array([f"No. {y}" for y in SEEN["y"].to_pylist()])
        )
        for learner in (Majority(), "relu:2"):
            found = recombine.predict(numbered, **HOW).with_rehearsal(recombine.rehearse(numbered, learner, **HOW))
            beside = next(one for one in found.reasons if one.startswith(("Forecast without", "Rehearsed as well")))
            assert re.search(r"accuracy \d+ % \(.* %\); the best simple rule \(.*\) \d+ %\.", beside)

    def test_kernel_machines_on_inputs_lead_where_no_row_of_an_unseen_combination_is_there(self) -> None:
        rehearsal = recombine.rehearse(SEEN, "examples", inputs="x", **HOW)
        found = recombine.predict(SEEN, examples=recombine.Examples(inputs="x"), **HOW).with_rehearsal(rehearsal)
        assert found.rehearsed.leads
        assert found.expected == rehearsal.expected
        assert found.examples.expected.basis == "examples"

    def test_rows_of_unseen_combinations_lead(self) -> None:
        how = {"truth": EVERY, **HOW}
        rehearsal = recombine.rehearse(SEEN, "examples", inputs="x", **how)
        examples = recombine.Examples("x", unlabelled=UNSEEN.drop_columns(["y"]))
        found = recombine.predict(SEEN, examples=examples, **how).with_rehearsal(rehearsal)
        assert not found.rehearsed.leads
        assert found.expected.basis == "examples"
        assert found.reasons[0].startswith("Rehearsed as well (learner: examples): accuracy ")

    def test_a_closed_form_over_combinations_leads_only_where_nothing_else_speaks(self) -> None:
        rehearsal = recombine.rehearse(SEEN, "relu:2", **HOW)
        spoken = recombine.predict(SEEN, **HOW).with_rehearsal(rehearsal)
        silent = recombine.predict(SEEN, **HOW, backtest=False).with_rehearsal(rehearsal)
        assert not spoken.rehearsed.leads
        assert spoken.expected.basis == "combinations"
        assert silent.rehearsed.leads
        assert silent.expected == rehearsal.expected

    def test_one_that_abstains_never_leads_and_says_why(self) -> None:
        cross = SEEN.filter(pa.array(["a0" in pair or "b0" in pair for pair in zip(*_columns(SEEN), strict=True)]))
        rehearsal = recombine.rehearse(cross, Majority(), **HOW)
        found = recombine.predict(cross, **HOW).with_rehearsal(rehearsal)
        assert rehearsal.expected.abstains
        assert not found.rehearsed.leads
        assert "no score is forecast" in found.reasons[0]


def _columns(table):
    return table["a"].to_pylist(), table["b"].to_pylist()


def test_it_is_saved_and_loaded(tmp_path) -> None:
    rehearsal = recombine.rehearse(SEEN, "examples", inputs="x", **HOW)
    found = recombine.predict(SEEN, examples=recombine.Examples(inputs="x"), **HOW).with_rehearsal(rehearsal)
    found.save(tmp_path / "saved")
    again = recombine.load(tmp_path / "saved")
    assert again == found
    assert again.rehearsed == found.rehearsed
    assert again.examples.expected == found.examples.expected != again.expected


def test_forecasts_that_disagree_beyond_chance_are_called_so() -> None:
    low = Expected("accuracy", 0.4, 0.3, 0.5, 0.3, "majority", (0.0, 0.1, 0.2))
    high = Expected("accuracy", 0.9, 0.8, 0.95, 0.3, "majority", (0.5, 0.6, 0.65))
    assert "rely on neither" in _disagree(low, high)
    assert _disagree(high, low) == _disagree(low, high)
    assert not _disagree(low, Expected("accuracy", 0.6, 0.45, 0.7))
    assert not _disagree(low, Expected("accuracy"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0.9, "not what recombine.rehearse gives back"),
        (recombine.rehearse(SEEN, "additive", factors=["b", "a"], target="y"), "asks something else"),
        (recombine.rehearse(EVERY.slice(0, 90), "additive", **HOW), "another table"),
    ],
)
def test_what_is_no_rehearsal_of_this_table_is_refused(given, words) -> None:
    with pytest.raises(SettingError, match=words):
        recombine.predict(SEEN, **HOW).with_rehearsal(given)


def test_it_is_kept_as_plain_data() -> None:
    kept = Rehearsed("relu:2", "So.", "weak", Expected("accuracy"), False)
    for one in (None, kept):
        assert revive(Rehearsed | None, plain(one)) == one


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pq.write_table(SEEN, "seen.parquet")
        ask = ["predict", "seen.parquet", "-f", "a,b", "-t", "y"]
        return lambda *words: CliRunner().invoke(app, [*ask, *words])

    def test_with_inputs_the_rehearsal_leads(self, run) -> None:
        told = json.loads(run("--inputs", "x", "--rehearse", "--json").stdout)
        assert told["expected"]["basis"] == "rehearsal"
        assert told["rehearsed"]["learner"] == "examples"

    def test_without_inputs_it_stands_beside(self, run) -> None:
        done = run("--rehearse")
        assert done.exit_code == 0
        assert "Rehearsed as well (learner: relu:2): accuracy" in " ".join(done.stdout.split())

    def test_a_learner_alone_is_refused(self, run) -> None:
        done = run("--learner", "additive")
        assert isinstance(done.exception, SettingError)
        assert "add --rehearse" in done.exception.instead
