"""A split as lists of ids: the same sides as in the table that would be written, and slips in words."""

import json

import pyarrow.parquet as pq
import pytest

import recombine
from recombine.base.errors import SettingError

TABLE = {
    "episode": list(range(24)),
    "object": [*"abcd"] * 6,
    "surface": [*"xxyyzz"] * 4,
}


def test_lists_hold_the_ids_of_the_sides_that_a_table_would_have(tmp_path):
    asked = {"factors": ["object", "surface"], "id": "episode"}
    recombine.split(TABLE, out=tmp_path / "held.parquet", **asked)
    made = recombine.split(TABLE, out=tmp_path / "lists.json", **asked)
    table = pq.read_table(tmp_path / "held.parquet").to_pylist()
    lists = json.loads((tmp_path / "lists.json").read_text())
    assert list(lists) == [name for name in ("train", "test", "seen") if name in lists]
    assert lists == {side: [row["episode"] for row in table if row["split"] == side] for side in lists}
    assert sum(map(len, lists.values())) == 24
    assert {side.name: side.rows for side in made.sides} == {side: len(ids) for side, ids in lists.items()}


@pytest.mark.parametrize(("id_", "said"), [(None, "no column was named"), ("object", "have the same id")])
def test_lists_need_an_id_that_tells_rows_apart(tmp_path, id_, said):
    with pytest.raises(SettingError, match=said):
        recombine.split(TABLE, factors=["object", "surface"], out=tmp_path / "lists.json", id=id_)
    assert not list(tmp_path.iterdir())


def test_names_are_listed_as_text_and_rows_without_a_side_in_no_list(tmp_path):
    table = TABLE | {"episode": [f"run {k}" for k in range(24)], "surface": [None, *TABLE["surface"][1:]]}
    recombine.split(table, factors=["object", "surface"], out=tmp_path / "l.json", id="episode", seen_share=0)
    lists = json.loads((tmp_path / "l.json").read_text())
    assert sorted(one for ids in lists.values() for one in ids) == sorted(f"run {k}" for k in range(1, 24))
