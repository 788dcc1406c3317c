"""Lists, comparisons and pruning, on stores made by hand."""

import os
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine_lab.runs import run_list
from recombine_lab.runs.pruning import removable, remove
from recombine_lab.runs.run_comparison import MetricSpread, compare
from recombine_lab.runs.run_files import folder_of
from recombine_lab.runs.run_list import find_key, list_runs
from recombine_lab.runs.store import Store
from tests.lab.runs.samples import configuration, run


@pytest.fixture
def store(tmp_path):
    """Two models with three seeds each, of which one collapsed, one diverged and one is damaged; and a failed run."""
    store = Store.open(tmp_path / "store")
    for seed, unseen in enumerate((0.8, 0.1, 0.9)):
        store.put(run(seed, unseen=unseen))
    cnn = {"name": "cnn", "kernel": 3}
    store.put(run(0, unseen=0.3, model=cnn))
    store.put(run(1, unseen=None, status="diverged", model=cnn))
    store.put(run(2, unseen=0.4, model=cnn))
    path = Path(store.place) / folder_of(run(2, model=cnn).key) / "curve.parquet"
    content = bytearray(path.read_bytes())
    content[50] ^= 1
    path.write_bytes(content)
    later = (path.parent / "record.json").stat().st_mtime + 5
    os.utime(path, (later, later))  # clocks of file systems tick slowly
    store.put_failure(configuration(3), "no room", attempt=1)
    store.put_failure(configuration(3), "no luck", attempt=2)
    return store


def ends(found) -> list[tuple[str, int, str]]:
    return [(line.settings["model"], line.seed, line.status) for line in found]


def test_every_run_is_listed_however_it_ended(store):
    assert ends(list_runs(store)) == [
        ("cnn", 0, "finished"),
        ("cnn", 1, "diverged"),
        ("mlp", 0, "finished"),
        ("mlp", 1, "finished"),
        ("mlp", 2, "finished"),
        ("mlp", 3, "failed"),
        ("cnn", 2, "damaged"),
    ]
    reasons = {line.status: line.reason for line in list_runs(store)}
    assert reasons["failed"] == "no luck (attempt 2)"
    assert "curve.parquet: its checksum" in reasons["damaged"]


def test_a_damaged_mark_is_listed_too(store):
    key = run(0).key
    (Path(store.place) / folder_of(key) / "record.json").write_text("{")
    found = {line.key: line for line in list_runs(store)}
    assert found[key].status == "damaged"
    assert len(found) == 7


def test_an_old_time_hides_damage_from_a_list_but_not_from_a_check(store):
    key = run(2, model={"name": "cnn", "kernel": 3}).key
    os.utime(Path(store.place) / folder_of(key) / "curve.parquet", (0, 0))
    assert "damaged" not in {line.status for line in list_runs(store)}
    assert [line.key for line in list_runs(store, check=True) if line.status == "damaged"] == [key]


def test_lines_of_some_keys_only(store):
    keys = {run(0).key, configuration(3).key}
    assert {line.key for line in list_runs(store, only=keys)} == keys


def test_what_differs_and_what_does_not(store):
    found = list_runs(store)
    assert list(run_list.varying_settings(found)) == ["model"]
    assert run_list.common_settings(found)["recipe.lr"] == 0.01
    assert set(run_list.common_settings(found)) | {"model", "model.kernel"} == set(found[0].settings)


def test_a_setting_sets_apart_what_has_the_same_name(tmp_path):
    store = Store.open(tmp_path)
    for width in (8, 16):
        store.put(run(0, model={"width": width}))
    store.put(run(0, model={"name": "cnn", "width": 99, "kernel": 3}, task={"values": 7}, split={"factors": ["a"]}))
    found = list_runs(store)
    assert list(run_list.varying_settings(found)) == ["task.values", "split.factors", "model", "model.width"]
    told = {
        line.settings["model.width"]: told
        for line, told in zip(found, run_list.distinguishing_settings(found), strict=True)
    }
    assert [(told[width]["model"], told[width].get("model.width")) for width in (8, 16, 99)] == [
        ("mlp", 8),
        ("mlp", 16),
        ("cnn", None),
    ]
    assert "model.width" not in told[99]
    assert "model.kernel" not in run_list.common_settings(found)


def test_the_factors_of_a_split_are_those_of_its_task(tmp_path):
    store = Store.open(tmp_path)
    store.put(run(0))
    store.put(run(0, task={"name": "pairs"}, split={"factors": ["a", "b"]}))
    assert list(run_list.varying_settings(list_runs(store))) == ["task"]


def test_a_table_has_a_line_for_each_run(store):
    table = store.table()
    assert table.num_rows == 7
    assert {"key", "status", "task", "model", "model.kernel", "seed", "unseen.score"} <= set(table.column_names)
    assert "recipe.lr" not in table.column_names
    assert table["unseen.score"].to_pylist()[:5] == [0.3, None, 0.8, 0.1, 0.9]
    assert table["model.kernel"].to_pylist()[:3] == [3, 3, None]


def test_settings_of_mixed_kinds_become_text(tmp_path):
    store = Store.open(tmp_path)
    for batch in (8, "every", None, [1]):
        store.put(run(recipe={"batch": batch}))
    assert set(store.table()["recipe.batch"].to_pylist()) == {"8", "every", None, "[1]"}


def test_numbers_are_in_order_within_lists_too(tmp_path):
    store = Store.open(tmp_path)
    for hidden in ([16], [8], [8, 100], [8, 20], [100], "all", "٣", 3, 0.5, None):
        store.put(run(model={"hidden": hidden}))
    found = [line.settings["model.hidden"] for line in list_runs(store)]
    assert found == [0.5, 3, [8, 20], [8, 100], [8], [16], [100], "all", None, "٣"]


def test_an_empty_store(tmp_path):
    store = Store.open(tmp_path)
    assert list_runs(store) == []
    assert store.table().num_rows == 0
    assert removable(store, older=0, status=["failed"], superseded=True) == ()
    with pytest.raises(SettingError, match="this store is empty"):
        find_key(store, "3f")


@pytest.mark.parametrize(
    ("conditions", "count"),
    [
        ({"model": "cnn"}, 3),
        ({"model": "cnn", "seed": "1"}, 1),
        ({"recipe.lr": "1e-2"}, 7),
        ({"status": "damaged"}, 1),
        ({"model.kernel": "3"}, 3),
        ({"model.kernel": "null"}, 4),
        ({"split.factors": '["left", "right"]'}, 7),
        ({"model": "rnn"}, 0),
    ],
)
def test_conditions(store, conditions, count):
    assert len(run_list.filter_runs(list_runs(store), conditions)) == count


def test_a_condition_on_what_is_not_there(store):
    with pytest.raises(SettingError, match=r"did you mean 'model\.kernel'"):
        run_list.filter_runs(list_runs(store), {"model.kernal": "3"})


def test_a_run_is_found_by_the_beginning_of_its_key(store):
    key = run(0).key
    assert find_key(store, key) == find_key(store, key[:10]) == find_key(store, key[:10].upper()) == key
    assert find_key(store, configuration(3).key[:8]) == configuration(3).key
    with pytest.raises(SettingError, match="did you mean"):
        find_key(store, key[:7] + "z")


def test_a_beginning_that_several_keys_share(tmp_path):
    store = Store.open(tmp_path)
    for seed in range(17):  # more runs than first letters
        store.put(run(seed))
    keys = sorted(store.keys())
    twice = next(key[0] for key, after in pairwise(keys) if key[0] == after[0])
    with pytest.raises(SettingError, match="write more of it") as error:
        find_key(store, twice)
    assert all(find_key(store, part) for part in error.value.instead.partition(": ")[2].split(", ") if len(part) > 8)


# Comparisons


@given(st.lists(st.none() | st.floats(-5, 5), max_size=9))
def test_a_spread_is_what_sorting_says(values):
    spread = MetricSpread(tuple(values))
    known = sorted(value for value in values if value is not None)
    assert spread.missing == values.count(None)
    if not known:
        assert (spread.median, spread.low, spread.high) == (None, None, None)
    else:
        assert (spread.low, spread.high) == (known[0], known[-1])
        assert spread.median == median(known)
        assert known[(len(known) - 1) // 2] <= spread.median <= known[len(known) // 2]


def test_a_collapsed_seed_is_seen(store):
    made = compare(list_runs(store), by=["model"])
    values = {group.settings["model"]: group.spread("unseen.score").values for group in made.groups}
    assert values == {"cnn": (0.3, None, None), "mlp": (0.8, 0.1, 0.9, None)}
    assert [line.status for line in made.groups[0].lines] == ["finished", "diverged", "damaged"]
    mlp = made.groups[1].spread("unseen.score")
    assert (mlp.median, mlp.low, mlp.high, mlp.missing) == (0.8, 0.1, 0.9, 1)


def test_groups_are_made_by_what_differs_unless_told(store):
    made = compare(list_runs(store))
    assert [dict(group.settings) for group in made.groups] == [
        {"model": "cnn"},
        {"model": "mlp"},
    ]
    assert made.mixed == {}
    assert made.metrics == ("seen.score", "unseen.score")


def test_what_is_mixed_within_a_group_is_told(store):
    made = compare(list_runs(store), by=["task"])
    assert len(made.groups) == 1
    assert set(made.mixed["model"]) == {"cnn", "mlp"}
    store.put(run(0, code="0.2.0"))
    assert set(compare(list_runs(store), by=["model"]).mixed["code"]) == {"0.1.0+abc", "0.2.0"}


def test_unknown_names_in_a_comparison(store):
    with pytest.raises(SettingError, match="did you mean 'model'"):
        compare(list_runs(store), by=["modle"])
    with pytest.raises(SettingError, match=r"did you mean 'unseen\.score'"):
        compare(list_runs(store), metrics=["unsen.score"])


# Pruning


def test_nothing_young_is_removed(store):
    staged = Path(store.place) / "tmp" / "writer"
    staged.mkdir()
    (staged / "curve.parquet").write_bytes(b"half")
    store.save_state("pack", b"state", {})
    assert removable(store) == ()
    assert [(one.kind, one.name) for one in removable(store, older=-10)] == [
        ("left over", "tmp/writer"),
        ("unfinished", "states/pack"),
    ]
    remove(store, removable(store, older=-10))
    assert not staged.exists()
    assert store.load_state("pack") is None
    assert len(list_runs(store)) == 7


def test_runs_that_no_mark_names_are_left_over(store):
    orphan = Path(store.place) / folder_of(run(9).key)
    orphan.mkdir(parents=True)
    (orphan / "curve.parquet").write_bytes(b"half")
    assert [one.name for one in removable(store, older=-10)] == [f"{folder_of(run(9).key)}/curve.parquet"]


def test_what_stands_beside_a_damaged_mark_is_left_alone(store):
    (Path(store.place) / folder_of(run(0).key) / "record.json").write_text("{")
    assert removable(store, older=-10) == ()


@pytest.mark.parametrize("status", ["failed", "diverged", "damaged"])
def test_runs_are_removed_by_how_they_ended(store, status):
    before = {line.key: line.status for line in list_runs(store)}
    remove(store, removable(store, status=[status]))
    assert {line.key for line in list_runs(store)} == {key for key, end in before.items() if end != status}


def test_of_runs_that_differ_in_code_alone_the_latest_stays(store):
    again = run(0, code="0.2.0", created="2027-01-01T00:00:00+00:00")
    store.put(again)
    assert [(one.name, one.why) for one in removable(store, superseded=True)] == [
        (run(0).key, "run again by code 0.2.0")
    ]
    remove(store, removable(store, superseded=True))
    assert store.has(again.key)
    assert not store.has(run(0).key)
    assert removable(store, superseded=True) == ()
