"""Limits of time and memory: what each verb leaves out when time is up, what it refuses, and that it says so."""

import re
import time
from unittest import mock

import numpy as np
import pytest

import recombine
from recombine.base import limits
from recombine.base.errors import RecombineError, TableError
from recombine.data import engine
from recombine.verbs.predict.learner import refuse_too_large
from recombine.verbs.split.divergence_search import CompoundDivergence
from tests.commands import run_command
from tests.twins import support_of

AT_ONCE = 1e-9  # seconds: over before the first round is done
ASKED = {"factors": ["a", "b", "c"], "target": "y"}


def table() -> dict[str, list]:
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, 6, (150, 3)), axis=0)
    answers = (codes * [1.0, 2.0, 0.5]).sum(axis=1) + rng.normal(size=len(codes))
    return {name: column.tolist() for name, column in zip("abc", codes.T, strict=True)} | {"y": answers.tolist()}


@pytest.fixture
def support() -> recombine.Support:
    """Read before the clock runs: a count is refused when time is up, see below."""
    return recombine.read(table(), **ASKED)


def test_a_back_test_ends_with_the_rounds_that_are_done(support) -> None:
    with recombine.limited(seconds=AT_ONCE):
        found = recombine.predict(support, salience="fit", combinations=[(0, 0, 1), (5, 4, 3)])
    assert " Stopped after 1 s: 1 of 5 rounds of the back-test." in found.verdict
    alone = recombine.backtest(support, salience="fit", folds=1, share=0.2)
    assert (found.backtest.folds, found.backtest.tested) == (1, alone.tested)
    assert found.backtest.methods[0].score == pytest.approx(alone.methods[0].score)


def test_kinds_that_were_not_tested_are_said(support) -> None:
    pairs = support.codes[:, 0] * 6 + support.codes[:, 1]
    some = support.subset(np.flatnonzero(pairs % 5 > 0))  # so that whole pairs of values are unseen
    with recombine.limited(seconds=AT_ONCE):
        found = recombine.predict(some, salience="relu:2")
    assert " Stopped after 1 s: 1 of 3 kinds of unseen combinations tested in blocks." in found.verdict
    assert "Stopped" not in recombine.predict(some, salience="relu:2", backtest=False).verdict


def test_a_rehearsal_ends_with_the_rounds_that_are_done(support) -> None:
    with recombine.limited(seconds=AT_ONCE):
        found = recombine.rehearse(support, "additive", rounds=2)
    assert found.verdict.endswith(" Stopped after 1 s: 1 of 2 rounds of the rehearsal.")
    whole = recombine.rehearse(support, "additive", rounds=2)
    assert len(found.rounds) == 1
    assert found.rounds[0] == whole.rounds[0]


def test_a_search_ends_with_the_best_so_far(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(engine, "_TICK_SECONDS", 60.0)
    splitter = CompoundDivergence(factors=["a", "b", "c"], test_size=0.2, atom_limit=0.9, tries=3, rounds=50)
    with recombine.limited(seconds=AT_ONCE):
        found = recombine.split(table(), by=splitter, out=tmp_path / "held.parquet", factors=ASKED["factors"])
    assert " Stopped after 1 s: 1 of 50 rounds of the search. Stopped after 1 s: 1 of 3 tries" in found.verdict


@pytest.mark.parametrize("verb", ["audit", "predict", "plan", "rehearse", "propose"])
def test_a_count_is_refused_and_not_cut(verb, monkeypatch) -> None:
    monkeypatch.setattr(engine, "_TICK_SECONDS", 0.0)  # as if the engine took longer than one look
    given = {"propose": {}, "rehearse": ASKED | {"learner": "additive"}}.get(verb, ASKED)
    with (
        recombine.limited(seconds=AT_ONCE),
        pytest.raises(RecombineError, match="the time limit of 1 s was over while the table was counted"),
    ):
        getattr(recombine, verb)(table(), **given)


@pytest.mark.parametrize("verb", [recombine.audit, recombine.plan])
def test_what_has_no_rounds_is_whole(verb, support) -> None:
    whole = verb(support)
    with recombine.limited(seconds=AT_ONCE):
        found = verb(support)
    assert (found.verdict, found.reasons) == (whole.verdict, whole.reasons)


def test_without_a_limit_no_clock_is_asked(support) -> None:
    with mock.patch.object(time, "monotonic", side_effect=AssertionError):
        assert list(limits.within_time(range(3), "rounds")) == [0, 1, 2]
    with recombine.limited(seconds=AT_ONCE, memory=10**9) as within:
        assert within.time_is_up
    assert limits.current().memory is None
    assert limits.partial() == ""


def test_memory_is_held_by_the_engine_and_asked_for_before_it_is_taken() -> None:
    codes = np.stack(np.unravel_index(np.arange(10**6), (32,) * 4), axis=1)
    large = support_of(codes, sizes=(32,) * 4)
    with recombine.limited(memory=300 * 2**20):
        with engine.own_duckdb() as backend:
            (allowed,) = backend.con.execute("SELECT current_setting('memory_limit')").fetchone()
        with pytest.raises(TableError, match="16 sets of 4 factors with 1,000,000 combinations") as caught:
            refuse_too_large(large, (0.0, *[1.0] * 15), questions=1)
    refuse_too_large(large, (0.0, *[1.0] * 15), questions=1)
    assert allowed == "75.0 MiB"
    assert re.search(r"about \d\.\d GB of memory, and may take 0.2 GB here", str(caught.value))


def test_options(tmp_path) -> None:
    columns = table()
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    words = ("rehearse", "t.csv", "--factors", "a,b,c", "--target", "y", "--learner", "additive")
    with mock.patch.object(limits, "refuse_if_late"):
        done = run_command(tmp_path, *words, "--time-limit", "1e-9", "--memory-limit", "4 GB")
    assert done.returncode == 0, done.stderr
    assert "Stopped after 1 s: 1 of 5 rounds of the rehearsal." in " ".join(done.stdout.split())
    for option, said in (("--memory-limit", "it is not an amount of memory"), ("--time-limit", "Invalid value")):
        wrong = run_command(tmp_path, *words, option, "soon")
        assert wrong.returncode == 2
        assert said in wrong.stderr
    assert "write seconds=60 (--time-limit 60)" in run_command(tmp_path, *words, "--time-limit", "0").stderr
