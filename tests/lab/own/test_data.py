"""Data of one's own, rows as the unit: counts, every kind of source and inputs, balance, loaders, and the examples."""

import io
import json
import runpy
import sys
import tarfile
from collections import Counter
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from PIL import Image
from sklearn.model_selection import GroupKFold, KFold
from torch.utils.data import Dataset, IterableDataset

from recombine import HoldOutCombinations
from recombine.base.errors import ColumnError, RecombineError, SettingError, SourceError
from recombine_lab import Store, fit
from recombine_lab.tasks import HeldOut, TableTask
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import split_of
from recombine_lab.training.configurations import jobs
from recombine_lab.training.member import Member

EXAMPLES = Path(__file__).parents[3] / "examples" / "own_data"
SHOWN = {("a", "x"): 400, ("a", "y"): 16, ("b", "x"): 16, ("b", "y"): 4, ("c", "x"): 4, ("c", "y"): 4}
COUNTS = {("a", "x"): 500, ("a", "y"): 20, ("b", "x"): 20, ("b", "y"): 5, ("c", "x"): 5, ("c", "y"): 5}
PAIRS = [pair for pair, count in COUNTS.items() for _ in range(count)]
FACTORS = ("f", "g")
TABLE = {"f": [f for f, _ in PAIRS], "g": [g for _, g in PAIRS], "y": [float(n % 7) for n in range(len(PAIRS))]}
INPUTS = np.arange(len(PAIRS), dtype=np.float32)[:, None]
RECIPE = {"steps": 3, "samples": "every", "evaluations": 1}


def counted(**chosen):
    return TableTask(**({"source": TABLE, "inputs": INPUTS, "factors": FACTORS, "target": "y"} | chosen))


def shown(task, split, recipe=RECIPE):
    """How often each combination is among the training examples."""
    (job,) = jobs(task, split, "mlp", recipe, (0,), named=False)
    member = Member(job)
    codes, counts = member.examples.support()
    values = [factor.values for factor in task.space.factors]
    return {(values[0][f], values[1][g]): int(count) for (f, g), count in zip(codes, counts, strict=True)}


# Rows are the unit


def test_every_row_of_the_training_side_is_a_training_example():
    (run,) = fit(counted(), HoldOutCombinations(factors=FACTORS, test_size=0.2), "mlp", RECIPE, progress=None)
    told = {(row["f"], row["g"]): row["count"] for row in run.tables["support"].to_pylist()}
    held = set(COUNTS) - set(told)
    assert len(held) == 1
    assert told == {pair: SHOWN[pair] for pair in COUNTS if pair not in held}  # it was five rows, one for each
    asked = run.tables["predictions"].to_pylist()
    seen = Counter((row["f"], row["g"]) for row in asked if row["part"] == "seen")
    assert seen == {pair: COUNTS[pair] - SHOWN[pair] for pair in told}
    unseen = [(row["f"], row["g"]) for row in asked if row["part"] == "unseen"]
    assert unseen == [pair for pair in PAIRS if pair in held]


@pytest.mark.parametrize(
    "split",
    ["hold_out_combinations", "combination_k_fold", {"name": "hold_out_conjunctions", "conjunctions": 1}, "everything"],
)
def test_rows_are_the_unit_with_every_splitter(split):
    told = shown(counted(), split)
    assert told == {pair: SHOWN[pair] for pair in told}
    assert len(told) < len(COUNTS) or split == "everything"
    assert shown(counted(held_back=0), split) == {pair: COUNTS[pair] for pair in told}


def rows_in(source):
    return source.every()[:, 2].tolist()


@pytest.mark.parametrize("split", ["hold_out_combinations", "everything"])
@pytest.mark.parametrize("held_back", [0.2, 0.9])
def test_what_is_asked_was_never_trained_on(split, held_back):
    """Counted one by one: at least one of two or more rows of a combination is held back, never the only one."""
    alone = TABLE | {"f": [*TABLE["f"][:-1], "d"]}
    task = counted(source=alone, held_back=held_back)
    parts = split_of(split, task).parts(task, seed=0)
    train, seen = Counter(), Counter()
    for rows, count in ((rows_in(parts.train), train), (rows_in(parts.tests["seen"]), seen)):
        count.update((alone["f"][row], alone["g"][row]) for row in rows)
    asked = [row for source in parts.tests.values() for row in rows_in(source)]
    assert sorted(rows_in(parts.train) + asked) == list(range(len(PAIRS)))
    for pair, count in train.items():
        whole = count + seen[pair]
        assert seen[pair] == (0 if whole == 1 else min(max(round(held_back * whole), 1), whole - 1))
    assert rows_in(split_of(split, task).parts(task, seed=7).train) == rows_in(parts.train)


def test_noise_that_was_memorised_is_no_gap_between_combinations():
    rng = np.random.default_rng(0)
    table = {
        "a": rng.choice(list("uvwxyz"), 300),
        "b": rng.choice(list("12345"), 300),
        "y": rng.choice(list("pq"), 300),
    }
    inputs = rng.normal(size=(300, 60)).astype(np.float32)
    task = TableTask(source=table, inputs=inputs, factors=("a", "b"), target="y")
    split = HoldOutCombinations(factors=("a", "b"), test_size=0.3)
    recipe = {"steps": 300, "lr": 0.003, "samples": "every", "evaluations": 1}
    (run,) = fit(task, split, {"name": "mlp", "hidden": [128]}, recipe, progress=None)
    curve = run.tables["curve"].to_pylist()
    assert next(row["loss"] for row in reversed(curve) if row["part"] == "train") < 0.05
    assert abs(run.metrics["seen.score"] - run.metrics["unseen.score"]) < 0.2  # it was 1 against 0.54


def test_a_forecast_says_which_combinations_it_was_not_taught():
    pairs = [(f, g) for f in "abcd" for g in "xyz" for _ in range(1 if (f, g) == ("a", "x") else 4)]
    table = {"f": [f for f, _ in pairs], "g": [g for _, g in pairs], "y": [float("abcd".index(f)) for f, _ in pairs]}
    task = TableTask(source=table, inputs=np.eye(len(pairs)), factors=FACTORS, target="y")
    (run,) = fit(task, HoldOutCombinations(FACTORS, test_size=0.2, random_state=1), "mlp", RECIPE, progress=None)
    assert ("a", "x") in {(row["f"], row["g"]) for row in run.tables["support"].to_pylist()}
    with pytest.warns(UserWarning, match="no example of 1 combinations"):
        run.predict()


def test_nothing_that_was_trained_on_is_called_seen():
    parts = split_of("hold_out_combinations", task := counted(held_back=0)).parts(task, seed=0)
    assert set(parts.tests) == {"unseen"}
    parts = split_of("everything", task).parts(task, seed=0)
    assert set(parts.tests) == {"trained"}
    (run,) = fit(task, "hold_out_combinations", "mlp", RECIPE, progress=None)
    assert "seen.score" not in run.metrics
    assert run.evaluate().verdict
    for wrong in (1, -0.1, True, "few"):
        with pytest.raises(SettingError, match="held_back="):
            counted(held_back=wrong)


def test_new_examples_at_every_step_keep_the_distribution_of_the_rows():
    told = shown(counted(), "everything", {"steps": 300, "batch": 64})
    total = sum(told.values())
    for pair, count in COUNTS.items():
        assert told[pair] / total == pytest.approx(count / len(PAIRS), abs=0.01)


@pytest.mark.parametrize(("balance", "expected"), [("combinations", 1 / 6), ("target", None)])
def test_balance_is_asked_for(balance, expected):
    kinds = ["common"] * 540 + ["rare"] * 15
    task = counted(source=TABLE | {"kind": kinds}, target="kind", balance=balance)
    latents = split_of("everything", task).parts(task, seed=0).train.draw(20_000, seed=0)
    batch = task.render(latents, seed=0, part="train")
    if expected is None:
        assert batch.targets.float().mean().item() == pytest.approx(0.5, abs=0.02)
    else:
        shares = np.unique(task.combinations(latents), axis=0, return_counts=True)[1] / 20_000
        assert shares == pytest.approx(expected, abs=0.02)
    with pytest.raises(SettingError, match="samples='every'"):
        shown(task, "everything")


def test_a_splitter_of_rows_gives_seen_rows_that_were_held_out():
    parts = HeldOut(KFold(5, shuffle=True, random_state=0)).parts(counted(), seed=0)
    train, seen = (set(source.every()[:, 2].tolist()) for source in (parts.train, parts.tests["seen"]))
    assert not train & seen
    assert len(train | seen) + (len(parts.tests["unseen"].every()) if "unseen" in parts.tests else 0) == len(PAIRS)


def test_with_a_split_column_a_splitter_shows_training_rows_and_asks_test_rows():
    sides = ["train", "test"] * 277 + ["train"]
    parts = split_of("hold_out_combinations", task := counted(source=TABLE | {"side": sides}, split="side")).parts(
        task, seed=0
    )
    train, seen, unseen = (
        source.every()[:, 2].numpy() for source in (parts.train, parts.tests["seen"], parts.tests["unseen"])
    )
    assert {sides[row] for row in train} == {"train"}
    assert {sides[row] for row in (*seen, *unseen)} == {"test"}
    assert not {PAIRS[row] for row in train} & {PAIRS[row] for row in unseen}
    assert {PAIRS[row] for row in seen} <= {PAIRS[row] for row in train}


def test_a_loader_gives_the_same_rows_for_a_loop_of_ones_own():
    task = counted()
    split = HoldOutCombinations(factors=FACTORS, test_size=0.2)
    parts = HeldOut(split).parts(task, seed=0)
    for part, source in (("train", parts.train), ("unseen", parts.tests["unseen"])):
        loader = task.loader(split, part=part, batch_size=50)
        rows = torch.cat([inputs for inputs, _ in loader]).flatten().long().tolist()
        assert sorted(rows) == source.every()[:, 2].tolist()
        table = loader.dataset.table()
        assert len(table) == len(rows)
        if part == "unseen":
            assert rows == sorted(rows)
            assert table["target"].to_pylist() == [TABLE["y"][row] for row in rows]
    assert (
        torch.cat([x for x, _ in task.loader(split)]).tolist() == torch.cat([x for x, _ in task.loader(split)]).tolist()
    )
    with pytest.raises(SettingError, match="did you mean 'unseen'"):
        task.loader(split, part="unsen")


# Every kind of data

SMALL = {"f": ["a", "a", "b", "b"] * 3, "g": ["x", "y"] * 6, "y": ["no", "yes", "yes", "no"] * 3}


def image(shade):
    return Image.fromarray(np.full((4, 6, 3), shade, dtype=np.uint8))


def small(**chosen):
    return TableTask(**({"source": SMALL, "factors": FACTORS, "target": "y"} | chosen))


def rendered(task):
    return task.render(task.row_source(np.arange(len(task.rows_table())), part="test").every(), seed=0, part="test")


@pytest.fixture
def hugging_face():
    features = datasets.Features(
        {
            "picture": datasets.Image(),
            "f": datasets.Value("string"),
            "g": datasets.ClassLabel(names=["x", "y"]),
            "y": datasets.ClassLabel(names=["yes", "no"]),
        }
    )
    rows = {"picture": [image(20 * n) for n in range(12)], "f": SMALL["f"], "g": SMALL["g"], "y": SMALL["y"]}
    return datasets.Dataset.from_dict(rows, features=features)


def test_a_hugging_face_dataset_with_pictures_and_class_labels(hugging_face, tmp_path):
    whole = small(source=hugging_face, inputs="picture")
    assert whole.shapes.inputs == (3, 4, 6)
    assert set(whole.classes) == {"no", "yes"}
    assert (rendered(whole).inputs[:, 0, 0, 0] * 255).round().tolist() == [20 * n for n in range(12)]
    assert [whole.classes[one] for one in rendered(whole).targets] == SMALL["y"]
    chosen = small(source=hugging_face.select(range(11, 3, -1)), inputs="picture")  # its table is not in this order
    assert (rendered(chosen).inputs[:, 0, 0, 0] * 255).round().tolist() == [20 * n for n in range(11, 3, -1)]
    hugging_face.to_parquet(tmp_path / "rows.parquet")
    kept = small(source=tmp_path / "rows.parquet", inputs="picture")
    assert torch.equal(rendered(kept).inputs, rendered(whole).inputs)
    assert TASKS.build(TASKS.spec(kept)) == kept
    (run,) = fit(whole, "hold_out_combinations", {"name": "cnn", "channels": [4], "dense": [4]}, RECIPE, progress=None)
    assert set(run.tables["predictions"]["prediction"].to_pylist()) <= {"no", "yes"}
    assert run.module()(torch.zeros(2, 3, 4, 6)).shape == (2, 2)  # though its data are in memory alone


class Shades(Dataset):
    """A torch dataset of (input, target), with names for its classes as torchvision's have them."""

    classes = ("no", "yes")

    def __len__(self):
        return 12

    def __getitem__(self, place):
        return torch.full((2, 3), float(place)), self.classes.index(SMALL["y"][place])


def shades():
    return Shades()


def test_a_torch_dataset_with_a_factor_table(tmp_path):
    own, table = small(inputs=Shades(), target=None), small(inputs=Shades())
    assert own.shapes.names == table.shapes.names == ("no", "yes")
    assert torch.equal(rendered(own).targets, rendered(table).targets)
    assert rendered(own).inputs[5].unique().tolist() == [5.0]
    pa.parquet.write_table(pa.table(SMALL), tmp_path / "rows.parquet")
    named = small(source=tmp_path / "rows.parquet", inputs=f"{__name__}:shades", target=None)
    (run,) = fit(named, "everything", "mlp", RECIPE, store=tmp_path / "runs", progress=None)
    assert run.module()(torch.zeros(2, 2, 3)).shape == (2, 2)
    assert TASKS.build(Store.open(tmp_path / "runs").get(run.key).configuration.task) == named
    with pytest.raises(SettingError, match="no target"):
        _ = small(inputs=INPUTS[:12], target=None).shapes


class Stream(IterableDataset):
    """A dataset without places."""

    def __iter__(self):
        yield torch.zeros(2), 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"source": SMALL | {"text": ["a b"] * 12}, "inputs": "text", "tokenizer": "wrods"}, "did you mean 'words'"),
        ({"source": {n: c[:8] for n, c in SMALL.items()}, "inputs": Shades(), "target": None}, "12 inputs beside 8"),
        ({"inputs": Stream(), "target": None}, "an IterableDataset"),
    ],
)
def test_data_that_cannot_be_are_told_in_words(given, words):
    with pytest.raises(RecombineError) as refused:
        small(**given).rows_table()
    assert words in str(refused.value)


def brighter(picture):
    """A transform of one's own, of a Pillow picture."""
    return picture.resize((8, 8)).point(lambda shade: shade + 1)


def noisy(row):
    """A transform with chance in it."""
    return row + torch.rand(row.shape)


def test_transforms(hugging_face):
    made = small(source=hugging_face, inputs="picture", transform=brighter)
    assert made.transform == f"{__name__}:brighter"
    assert made.shapes.inputs == (3, 8, 8)
    assert (rendered(made).inputs[:, 0, 0, 0] * 255).round().tolist() == [20 * n + 1 for n in range(12)]
    chance = small(inputs=INPUTS[:12], transform=noisy)
    latents = chance.row_source(np.arange(3), part="train").every()
    one, again, other = (chance.render(latents, seed=seed, part="train").inputs for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    first, second = (small(inputs=INPUTS[:12], transform=lambda row: row) for _ in range(2))
    assert TASKS.spec(first) != TASKS.spec(second)  # what has no name is never taken for something else


def letters(text):
    """A tokenizer of one's own."""
    return [ord(letter) - 96 for letter in text if letter.isalpha()]


@pytest.mark.parametrize("tokenizer", ["words", "characters", letters])
def test_texts_with_a_tokenizer(tokenizer, tmp_path):
    texts = [f"{f} {g} {g}" for f, g in zip(SMALL["f"], SMALL["g"], strict=True)]
    pa.parquet.write_table(pa.table(SMALL | {"text": texts}), tmp_path / "rows.parquet")
    task = small(source=tmp_path / "rows.parquet", inputs="text", tokenizer=tokenizer)
    tokens = rendered(task).inputs
    assert tokens.dtype == torch.int64
    assert task.shapes.vocabularies == (int(tokens.max()) + 1, 2)
    expected = {"words": [1, 3, 3], "characters": [2, 1, 4, 1, 4]}.get(tokenizer, [1, 24, 24])
    assert tokens[0].tolist() == expected
    model = {"name": "transformer", "width": 8, "heads": 2, "layers": 1, "inner": 8}
    (run,) = fit(task, "everything", model, RECIPE, store=tmp_path / "runs", progress=None)
    assert run.status == "finished"
    with pytest.raises(SettingError, match="words by their place in a list"):
        fit(task, "everything", "mlp", RECIPE, progress=None)


def test_texts_without_a_tokenizer_are_refused_in_words():
    with pytest.raises(SourceError) as refused:
        small(source=SMALL | {"text": ["hello world"] * 12}, inputs="text")
    assert "tokenizer='words'" in refused.value.instead


def test_several_columns_and_several_targets():
    columns = {"u": np.arange(12.0), "v": np.arange(12) * 2, "pair": [[float(n), 1.0] for n in range(12)]}
    task = small(source=SMALL | columns, inputs=["u", "v"], target=["u", "v"])
    assert rendered(task).inputs[3].tolist() == rendered(task).targets[3].tolist() == [3.0, 6.0]
    lists = small(source=SMALL | columns, inputs=["u", "v"], target="pair")
    assert lists.shapes.outputs == (2,)
    (run,) = fit(lists, "hold_out_combinations", "mlp", RECIPE, progress=None)
    assert run.metrics["unseen.error"] is not None
    with pytest.raises(ColumnError, match="side by side as numbers"):
        _ = small(source=SMALL | columns, inputs=["u", "y"]).shapes


def test_web_dataset_shards(tmp_path):
    for shard in range(3):
        with tarfile.open(tmp_path / f"{shard:03}.tar", "w") as file:
            for row in range(4 * shard, 4 * shard + 4):
                stored = io.BytesIO()
                image(20 * row).save(stored, "png")
                told = {name: column[row] for name, column in SMALL.items()} | {"exif": {}}
                for ending, content in (
                    ("png", stored.getvalue()), ("json", json.dumps(told).encode()), ("txt", b"a word"), ("cls", b"3"),
                ):  # fmt: skip
                    entry = tarfile.TarInfo(f"{row:05}.{ending}")
                    entry.size = len(content)
                    file.addfile(entry, io.BytesIO(content))
    for source in ("*.tar", "{000..002}.tar"):
        task = small(source=str(tmp_path / source), inputs="png")
        assert (rendered(task).inputs[:, 0, 0, 0] * 255).round().tolist() == [20 * n for n in range(12)]
        assert [task.classes[one] for one in rendered(task).targets] == SMALL["y"]
        assert TASKS.build(TASKS.spec(task)) == task
        assert len(task.sha256) == 3
    assert small(source=str(tmp_path / "*.tar"), inputs="txt", tokenizer="words").shapes.inputs == (2,)
    with pytest.raises(SourceError, match="no file"):
        small(source=str(tmp_path / "nowhere.tar"), inputs="png")
    (tmp_path / "000.tar").write_bytes(b"no tar")
    with pytest.raises(SourceError, match="cannot read"):
        _ = small(source=str(tmp_path / "000.tar"), inputs="png").shapes


def test_groups_of_scikit_learn_split_rows_too():
    groups = np.array([hash(pair) % 97 for pair in PAIRS])

    class ByPair:
        def split(self, table):
            yield from GroupKFold(3).split(np.zeros(len(table)), groups=groups)

    parts = HeldOut(ByPair()).parts(counted(), seed=0)
    assert len(parts.train.every()) + sum(len(one.every()) for one in parts.tests.values()) >= len(PAIRS)


# From file to page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("own_data")
    runpy.run_path(str(EXAMPLES / "data.py"))["write"](made)
    return made


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["pictures", "hugging_face", "torch_dataset", "text"])
def test_from_file_to_page_in_under_twenty_lines(name, folder, monkeypatch, capsys):
    script = EXAMPLES / f"{name}.py"
    assert sum(bool(line.strip()) for line in script.read_text().splitlines()) < 20
    monkeypatch.setattr(sys, "argv", [str(script), str(folder)])
    runpy.run_path(str(script), run_name="__main__")
    assert "unseen combinations" in capsys.readouterr().out
    assert "<html" in (folder / f"{name}.html").read_text()
