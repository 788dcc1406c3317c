"""The probe as a whole: its outcomes on known supports, what it refuses, what it hands back."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

import recombine
from recombine.base.errors import ColumnError, RecombineError, SettingError, SourceError, TableError
from recombine_lab import fit
from recombine_lab.probes import support
from recombine_lab.probes.probe_file import settings_of
from recombine_lab.probes.support_probe.verdict import DIAGONAL, EVEN, OF_ALL, OUTCOMES, SHOWN
from recombine_lab.tasks import DiagonalBand, Orthogonal, Random, Sprites

TASK = Sprites(size=8)
CUBE = np.random.default_rng(5).random((200, 10))
RNG = np.random.default_rng(0)
EVENLY = RNG.random((400, 2))
ALIKE = np.repeat(RNG.random((400, 1)), 2, axis=1)


@cache
def sprites(exposure):
    rows = exposure.parts(TASK, seed=0).train.draw(1500, seed=1).double().numpy()
    return support(rows, slots=2, components=TASK, query=CUBE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exposure", "outcome", "grade"),
    [
        (Random(), "sufficient", "plausible"),
        (Orthogonal(), "sufficient", "plausible"),
        (Orthogonal(variant="gap"), "insufficient", "failing"),
        (DiagonalBand(delta=0.05), "unclear", "weak"),
        (DiagonalBand(delta=0.0), "insufficient", "failing"),
    ],
)
def test_outcomes_on_sprites(exposure, outcome, grade):
    found = sprites(exposure)
    assert (found.outcome, found.grade) == (outcome, grade)
    for slot in ("slot 0", "slot 1"):
        for rank in ("full rank, sum", "full rank, stack"):
            assert found.value(rank, where=slot) > 0.99, "rank tells none of these supports apart"
    assert "The rank decides nothing here" in " ".join(found.reasons)


@pytest.mark.slow
def test_numbers_of_the_gap_and_the_exact_diagonal():
    gap = sprites(Orthogonal(variant="gap"))
    assert gap.value("hole", where="slot 0: entry 0") == pytest.approx(0.4, abs=0.02)
    assert gap.value("hole", where="slot 0: entry 1") < 0.05
    assert "entry 0 between 0.0" in gap.verdict
    assert "evenly" in gap.verdict
    hole = gap.tables["holes"].to_pylist()[0]
    assert (hole["from"], hole["to"]) == (pytest.approx(0.05, abs=0.01), pytest.approx(0.45, abs=0.01))
    tied = sprites(DiagonalBand(delta=0.0))
    assert tied.value("coverage", where="slot 0") > 0.85
    assert tied.value("slice variation", where="slot 0") < 1e-3
    assert tied.value("left open", where="all slots") > 3 * tied.value("left open", where="all slots", who=EVEN)


def test_perfect_empty_and_adversarial():
    assert support(EVENLY, slots=2, composition="add").outcome == "sufficient"
    few = support(np.random.default_rng(0).random((12, 6)), slots=2, composition="add")
    assert (few.outcome, few.grade) == ("unclear", "untested")
    bent = np.column_stack([ALIKE[:, 0], np.sin(2 * ALIKE[:, 0])])
    assert support(bent, slots=2, composition="add").outcome == "insufficient", "a tie need not be a straight line"


def test_one_tied_direction_among_free_ones_is_named():
    rows = np.random.default_rng(0).random((800, 4))
    rows[:, 3] = rows[:, 1]
    found = support(rows, slots=2, composition="add", query="box")
    assert found.outcome == "insufficient"
    assert "one direction of slot" in found.verdict
    assert found.value("slice variation", where="slot 0: entry 0") > 0.9
    assert found.value("slice variation", where="slot 0: entry 1") < 0.1


def test_partners_that_are_never_but_zero_fix_nothing_under_a_product():
    def back(values):
        return (values > 0.5).to(values.dtype)[..., None, None] * torch.ones(1, 2, 1, 1)

    def front(values):
        return 0.5 + values[..., None, None] * torch.ones(1, 2, 1, 1)

    rows = np.column_stack([EVENLY[:, 0], 0.5 * EVENLY[:, 1]])
    found = support(rows, slots=2, composition="product", components=[front, back], query=EVENLY)
    assert found.outcome == "insufficient"
    dark = support(EVENLY, slots=2, composition="product", components=[front, lambda v: 0 * front(v)])
    assert dark.value("full rank, stack", where="slot 0") == 0
    assert dark.value("open directions that change the whole", where="slot 0") == 0, "nor is it ever asked about"


def test_alpha_and_an_orthogonal_support_are_left_open():
    task = Sprites(size=8, composition="alpha")
    rows = Orthogonal().parts(task, seed=0).train.draw(1500, seed=1).double().numpy()
    found = support(rows, slots=2, composition="alpha", components=task, query=CUBE)
    assert found.value("full rank, sum", where="slot 0") == 0, "at most 3 of 4, always"
    assert found.value("full rank, stack", where="slot 1") == 0
    assert found.outcome == "unclear"
    assert "no seen point fixes" in found.verdict
    assert found.reasons[0].startswith("Rank: 0 % of")


def test_a_function_of_ones_own_and_its_twin_in_the_registry():
    def own_sum(parts):
        return parts.sum(1)

    def components(values, slot):
        return torch.cat([values.sin(), values.cos() + slot], 1)

    known = support(EVENLY, slots=2, composition="add", components=components)
    mine = support(EVENLY, slots=2, composition=own_sum, components=components)
    assert mine.outcome == known.outcome == "sufficient"
    for name in ("full rank, sum", "full rank, stack", "slice variation", "coverage"):
        assert mine.value(name, where="slot 1") == pytest.approx(known.value(name, where="slot 1"))
    assert mine.value("left open", where="all slots") == pytest.approx(
        known.value("left open", where="all slots"), abs=0.02
    )
    assert "own_sum" in mine.verdict


@pytest.mark.slow
def test_large_components_are_only_ever_multiplied():
    mixing = torch.linalg.qr(torch.randn(12_288 // 64, 12_288 // 64, generator=torch.Generator().manual_seed(0)))[0]

    def compose(parts):
        shape = parts.shape[0], 64, -1
        whole = (parts[:, 0].reshape(shape) @ mixing.to(parts.dtype)) + parts[:, 1].reshape(shape).tanh()
        return whole.flatten(1)

    def components(values, slot):
        return torch.sin(values.sum(1, keepdim=True) * torch.linspace(0.1, 3 + slot, 12_288))

    found = support(EVENLY, slots=2, composition=compose, components=components)
    assert found.outcome == "sufficient"
    assert found.value("full rank, stack", where="slot 0") == pytest.approx(1.0)
    assert found.value("left open", where="all slots") is None


def test_components_are_said_to_be_whose_they_are():
    assert "random smooth ones" in " ".join(support(EVENLY, slots=2).reasons)
    learned = [nn.Sequential(nn.Linear(1, 3), nn.Unflatten(1, (3, 1, 1))) for _ in range(2)]
    assert "learned components" in " ".join(support(EVENLY, slots=2, components=learned).reasons)


def test_recovery_of_learned_components():
    def true(values, slot):
        return torch.stack([values.sin()[:, 0], (2 * values.cos())[:, 0] + slot], 1)

    def moved(values, slot):
        return true(values, slot) + (1 - 2 * slot)

    found = support(EVENLY, slots=2, composition="add", components=moved, truth=true)
    for name in ("recovery, anchor", "recovery, seen values", "recovery, elsewhere"):
        assert found.value(name, where="slot 0") == pytest.approx(1.0, abs=1e-5)
    off = support(EVENLY, slots=2, composition="concatenation", components=moved, truth=true)
    assert off.value("recovery, elsewhere", where="slot 0") < 0
    assert off.value("recovery up to scale and shift, elsewhere", where="slot 0") == pytest.approx(1.0, abs=1e-4)


def test_tables_files_names_and_levels(tmp_path):
    hue, shape = EVENLY[:, 0], np.array(["disc", "star", "ring"])[RNG.integers(0, 3, 400)]
    table = pa.table({"hue": hue, "shape": shape, "size": EVENLY[:, 1]})
    pq.write_table(table, tmp_path / "points.parquet")
    slots = {"thing": ["hue", "shape"], "place": ["size"]}
    found = support(tmp_path / "points.parquet", slots=slots, composition="add")
    assert found.outcome == "sufficient"
    assert found.table == support(table, slots=slots, composition="add").table
    levels = {row["entry"]: row["levels"] for row in found.tables["holes"].to_pylist()}
    assert levels == {"hue": 0, "shape": 3, "size": 0}
    assert found.value("hole", where="thing: shape") == 0


def test_a_level_never_seen_is_a_hole():
    rows = np.column_stack([RNG.integers(0, 3, 400), EVENLY])
    asked = np.column_stack([RNG.integers(0, 4, 400), EVENLY])
    found = support(rows, slots=[[0, 1], [2]], composition="add", query=asked)
    assert found.outcome == "insufficient"
    assert "1 of 4 levels of entry 0" in found.verdict


def test_values_beyond_what_was_seen_are_not_covered():
    found = support(0.5 * EVENLY, slots=2, composition="add", query=EVENLY)
    assert found.outcome == "insufficient"
    assert "hole of" in found.verdict
    nothing = support(0.01 * EVENLY, slots=2, composition="add", query=5 + EVENLY)
    assert nothing.outcome == "insufficient"


def clustered(n, seed, width=0.3):
    """Two clusters of the first entry, with nothing between them; the second is free."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) * (1 - width)
    return np.column_stack([np.where(first < (1 - width) / 2, first, first + width), rng.random(n)])


@pytest.mark.parametrize("query", [None, clustered(400, 2)], ids=["new combinations", "the same clusters"])
def test_a_hole_that_nobody_asks_about_is_no_failing(query):
    found = support(clustered(1000, 1), slots=2, composition="add", query=query)
    assert (found.outcome, found.grade) == ("sufficient", "plausible")
    assert found.value("hole", where="slot 0") == pytest.approx(0.3, abs=0.02)
    assert found.value("hole asked about", where="slot 0") < 0.02
    assert "Nothing is said of entry 0 between 0.3" in " ".join(found.reasons)


@pytest.mark.parametrize(
    "query", ["box", np.concatenate([clustered(400, 2), [[0.5, 0.5]]])], ids=["the whole range", "one point in it"]
)
def test_a_hole_that_is_asked_about_decides_and_what_cannot_see_it_says_so(query):
    found = support(clustered(1000, 1), slots=2, composition="add", query=query)
    assert (found.outcome, found.grade) == ("insufficient", "failing")
    assert "entry 0 between 0.3" in found.verdict
    told = " ".join(found.reasons)
    assert "ranked measured supports best" not in told
    assert "It hardly sees the hole" in told
    assert "Nothing is said of" not in told


def test_the_longest_hole_may_not_be_the_one_that_is_asked_about():
    rows = np.random.default_rng(1).random((2000, 2))
    first = rows[:, 0]
    rows = rows[~((first > 0.1) & (first < 0.5)) & ~((first > 0.7) & (first < 0.9))]
    asked = np.concatenate([rows[:200], [[0.8, 0.5]]])
    found = support(rows, slots=2, composition="add", query=asked)
    assert found.outcome == "insufficient"
    assert "entry 0 between 0.7 and 0.9" in found.verdict
    assert "Nothing is said of entry 0 between 0." in " ".join(found.reasons)
    holes = [row for row in found.tables["holes"].to_pylist() if row["entry"] == "entry 0"]
    assert [row["asked_about"] for row in holes] == [False, True]


def test_the_same_seed_gives_the_same_answer_and_it_is_saved_and_drawn(tmp_path):
    found = support(EVENLY[:150], slots=2, seed=3)
    assert found.table == support(EVENLY[:150], slots=2, seed=3).table
    assert found.outcome in OUTCOMES
    again = recombine.load(found.save(tmp_path / "probe"))
    assert again == found
    page = again.page(tmp_path / "probe.html").read_text(encoding="utf-8")
    assert "The seen points beside two controls" in page
    assert {row["who"] for row in found.table.to_pylist()} == {"measured", EVEN, DIAGONAL}


def test_progress_is_told():
    heard = []
    support(EVENLY, slots=2, composition="add", progress=lambda what, share: heard.append((what, share)))
    assert len(heard) > 3
    assert [share for _, share in heard] == sorted(share for _, share in heard)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({}, SettingError, "no slots"),
        ({"slots": 3}, SettingError, "slots=3 for 2 columns"),
        ({"slots": 1}, SettingError, "slots=1"),
        ({"slots": [["entry 0"], ["entry 7"]]}, ColumnError, "no column 'entry 7'"),
        ({"slots": [[0], [0, 1]]}, SettingError, "no column belongs to two"),
        ({"slots": [[0]]}, SettingError, "two slots or more"),
        ({"slots": "front"}, SettingError, "slots='front'"),
        ({"slots": 2, "composition": "soft_oclusion"}, SettingError, "soft_occlusion"),
        ({"slots": 2, "composition": 3}, SettingError, "composition=3"),
        ({"slots": 2, "composition": lambda parts: parts.sum(1)}, SettingError, "components are missing"),
        ({"slots": 2, "components": [torch.sin]}, SettingError, "a list of 1"),
        ({"slots": 2, "components": 3}, SettingError, "components of type int"),
        ({"slots": 2, "components": lambda values: values}, SettingError, "cannot be asked"),
        ({"slots": 2, "components": lambda values, slot: values[:, 0]}, SettingError, "no single numbers"),
        ({"slots": 2, "components": lambda values, slot: values / 0}, SettingError, "not finite"),
        ({"slots": 2, "components": lambda values, slot: torch.ones(len(values), 2 + slot)}, SettingError, "shapes"),
        ({"slots": 2, "composition": "alpha", "components": lambda v, k: v}, SettingError, "takes 4"),
        ({"slots": 2, "bandwidth": 0}, SettingError, "bandwidth=0"),
        ({"slots": 2, "seed": -1}, SettingError, "seed=-1"),
        ({"slots": 2, "query": EVENLY[:, :1]}, SettingError, "query has 1 columns"),
        ({"slots": 2, "query": "missing.parquet"}, SourceError, "no file"),
        ({"slots": 2, "model": 3}, SettingError, "model and slots"),
    ],
)
def test_what_is_refused(settings, error, said):
    with pytest.raises(error) as refused:
        support(None if "model" in settings else EVENLY, **settings)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (np.zeros((0, 2)), "has 0 rows"),
        (np.where(EVENLY > 0.9, np.nan, EVENLY), "not finite"),
        (np.column_stack([EVENLY[:, 0], np.ones(400)]), "same value in slot 1"),
        (EVENLY[:, 0], "of shape (400,)"),
        (np.round(4 * EVENLY), "every entry is a list of levels"),
        (np.array([["a", "b"]] * 9), "of shape (9, 2)"),
        (pa.table({"a": [[1.0], [2.0]], "b": [1.0, 2.0]}), "column 'a'"),
        ({"a": EVENLY[:, 0], "b": EVENLY[:5, 1]}, "points with columns of 400 and 5 rows"),
    ],
)
def test_points_that_are_refused(points, said):
    with pytest.raises((TableError, SettingError, ColumnError)) as refused:
        support(points, slots=2, composition="add")
    assert said in str(refused.value)


def test_a_composition_that_torch_cannot_follow():
    def by_numpy(parts):
        return torch.as_tensor(parts.sum(1).detach().numpy())

    with pytest.raises(SettingError, match=r"differentiate|does not compose"):
        support(EVENLY, slots=2, composition=by_numpy, components=lambda values, slot: values)


# -- runs ------------------------------------------------------------------------------------------------------------


RECIPE = {"steps": 2, "batch": 8, "samples": 300, "test_samples": 8, "evaluations": 1}


def trained(model, task=TASK, split="random"):
    return fit(task, split, model, RECIPE, progress=None)[0]


@pytest.mark.slow
def test_a_run_says_everything_by_itself():
    found = support(model=trained({"name": "compositional", "hidden": 8, "channels": 4}))
    assert found.rows == 300
    assert found.value("recovery, elsewhere", where="slot 1") < 0.5
    assert found.value("hole", where="slot 0: hue0") < 0.1
    assert found.provenance.source.startswith("run ")


@pytest.mark.slow
def test_a_run_whose_network_has_no_components():
    found = support(model=trained({"name": "monolithic", "hidden": 8, "channels": 4}))
    assert "has no components of its own" in " ".join(found.reasons)
    assert "recovery, elsewhere" not in found.numbers
    other = support(model=trained({"name": "compositional", "hidden": 8, "channels": 4, "composition": "add"}))
    assert "composes by add" in " ".join(other.reasons)


def test_runs_and_models_that_say_nothing():
    addition = fit("addition", "hold_out_combinations", {"name": "mlp", "hidden": [4]}, {"steps": 1}, progress=None)[0]
    with pytest.raises(SettingError, match="only sprites"):
        support(model=addition)
    with pytest.raises(SettingError, match="model of type Linear"):
        support(model=nn.Linear(1, 1))
    with pytest.raises(RecombineError, match="model and points"):
        support(EVENLY, model=addition)


def test_a_file_for_the_command(tmp_path):
    spec = tmp_path / "spec.py"
    spec.write_text(
        "import numpy as np\nimport torch\n\nslots = 2\n\n"
        "def points():\n    return np.random.default_rng(0).random((300, 2))\n\n"
        "def composition(parts):\n    return parts.sum(1)\n\n"
        "def components():\n    return [torch.sin, torch.cos]\n"
    )
    assert support(**settings_of(spec, support)).outcome == "sufficient"


def test_what_was_measured_beside_trained_models_is_what_the_probe_still_measures():
    """A number that went from the probe goes from the page of its figures as well."""
    place = Path(__file__).parents[3] / "docs" / "measured" / "probe_support.json"
    found = json.loads(place.read_text(encoding="utf-8"))
    known = {*SHOWN, *OF_ALL, "recovery, anchor"}
    assert set(found["rank_correlations"]) <= known
    assert all(set(one["numbers"]) <= known for one in found["supports"].values())
