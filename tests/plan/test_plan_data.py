"""Plans for real tables."""

import sys
from pathlib import Path

import numpy as np
import pytest

import recombine
from recombine.verbs.audit.determinacy import determinacy

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from tables import TABLES

pytestmark = pytest.mark.data
PAIRS = {table.name: table for table in TABLES if table.name in ("mit_states", "ut_zappos", "cgqa")}


@pytest.mark.parametrize("name", PAIRS)
def test_one_island_needs_nothing(name, data) -> None:
    support = recombine.read(data / PAIRS[name].file, **PAIRS[name].question)
    plan = recombine.plan(support)
    assert (plan.table.num_rows, plan.grade) == (0, "plausible")


@pytest.mark.parametrize("name", PAIRS)
def test_the_first_pairs_alone_need_as_many_as_there_are_islands(name, data) -> None:
    """A seeded third of the pairs falls apart: joining takes the islands, less one, and a line for each value lost."""
    whole = recombine.read(data / PAIRS[name].file, **PAIRS[name].question)
    part = whole.subset(np.sort(np.random.default_rng(0).permutation(len(whole))[: len(whole) // 3]))
    plan = recombine.plan(part)
    found = determinacy(part)
    lost = sum(int((island < 0).sum()) for island in found.islands)
    assert plan.table.num_rows == found.island_count - 1 + lost > 0
    assert plan.reached
    assert plan.curve[-1].value == part.space.size


def test_rare_pairs_of_mit_states(data) -> None:
    table = PAIRS["mit_states"]
    whole = recombine.read(data / table.file, **table.question)
    rare = whole.subset(np.flatnonzero(whole.counts <= np.quantile(whole.counts, 0.2)))
    plan = recombine.plan(rare)
    assert plan.reached
    assert plan.table.num_rows == determinacy(rare).island_count - 1 + sum(
        int((island < 0).sum()) for island in determinacy(rare).islands
    )


def test_a_replay_on_ut_zappos(data) -> None:
    table = PAIRS["ut_zappos"]
    support = recombine.read(data / table.file, **table.question)
    assert recombine.plan(support, replay=True).replay.area_low > 0
    firm = recombine.plan(support, goal="leverage", budget=10, replay=True)
    assert firm.replay.area_low > 0
    assert firm.curve[-1].value < firm.measure.today
