"""COGS: its published counts, and each sentence with its own logical form."""

import gzip
from collections import Counter

import numpy as np
import pytest
import torch

from recombine.base.errors import SettingError
from recombine_lab.tasks.cogs import Cogs
from recombine_lab.tasks.exposure import Own

pytestmark = [pytest.mark.data, pytest.mark.slow]  # reading the sets takes seconds, whoever is first


@pytest.fixture(autouse=True)
def _local(data, monkeypatch) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(data))


def _lines(data, name: str) -> list[tuple[str, str, str]]:
    text = gzip.decompress((data / "cogs" / f"{name}.tsv.gz").read_bytes()).decode()
    return [tuple(line.split("\t")) for line in text.splitlines()]


def test_the_sets_have_the_published_counts() -> None:
    parts = Own().parts(Cogs(by_type=True), seed=0)
    sizes = {name: len(source.every()) for name, source in parts.tests.items()}
    assert len(parts.train.every()) == 24_155
    assert (sizes.pop("seen"), sizes.pop("unseen")) == (3_000, 21_000)
    assert len(sizes) == 21
    assert set(sizes.values()) == {1_000}
    assert list(Cogs().own_parts(seed=0).tests) == ["seen", "unseen"]


@pytest.mark.parametrize(("part", "name"), [("train", "train"), ("seen", "test"), ("unseen", "gen")])
def test_every_sentence_is_rendered_with_its_logical_form(part, name, data) -> None:
    parts = Cogs().own_parts(seed=0)
    source = parts.train if part == "train" else parts.tests[part]
    assert Cogs().texts(source.every()) == [line[:2] for line in _lines(data, name)]
    batch = Cogs().render(source.every()[:50], seed=0, part="train")
    assert batch.inputs.shape == (50, 61)
    assert batch.targets.shape == (50, 481)
    assert batch.targets.dtype == torch.int64


def test_the_factors_are_those_of_the_lines(data) -> None:
    task = Cogs()
    codes = task.combinations(task.own_parts(seed=0).tests["unseen"].every())
    table = task.table(codes)
    lines = _lines(data, "gen")
    assert set(table["split"].to_pylist()) == {"gen"}
    assert table["type"].to_pylist() == [line[2] for line in lines]
    passive = ["was" in line[0].split() for line in lines]
    assert [voice == "passive" for voice in table["voice"].to_pylist()] == passive
    longest = Counter(
        length for length, line in zip(table["length"].to_pylist(), lines, strict=True) if len(line[0].split()) > 22
    )
    assert set(longest) == {"23 and more"}
    assert "target" not in table.column_names


def test_a_combination_is_rendered_as_one_of_its_sentences() -> None:
    task = Cogs()
    codes = task.every()
    assert len(codes) == task.space.size
    first, again, other = (task.tensors(codes, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.inputs, again.inputs)
    assert not torch.equal(first.inputs, other.inputs)
    parts = task.own_parts(seed=0)
    every = torch.cat([parts.train.every(), parts.tests["seen"].every(), parts.tests["unseen"].every()])
    sentences = {
        (tuple(row[:4]), tuple(words))
        for row, words in zip(every.tolist(), task.render(every, seed=0, part="train").inputs.tolist(), strict=True)
    }
    dev = task.space.factors[0].code("dev")
    drawn = [
        (tuple(row), tuple(words))
        for row, words in zip(codes.tolist(), first.inputs.tolist(), strict=True)
        if row[0] != dev
    ]
    assert set(drawn) <= sentences


def test_long_ones_can_be_left_out() -> None:
    task = Cogs(longest=154)
    assert task.shapes.outputs == (154,)
    parts = task.own_parts(seed=0)
    assert len(parts.train.every()) == 24_155
    assert len(parts.tests["unseen"].every()) < 21_000


def test_what_means_nothing_is_told() -> None:
    with pytest.raises(SettingError, match=r"longest=3\n.*hardly a sentence"):
        Cogs(longest=3)
    absent = np.zeros((1, 4), dtype=np.int64)
    absent[0, 0] = 3  # gen has no sentence of the first type, in_distribution
    with pytest.raises(SettingError, match="no sentence has these values together"):
        Cogs().tensors(absent, seed=0)
