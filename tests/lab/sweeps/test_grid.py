"""A sweep's file: the grid that it describes, and what is wrong with it, in words."""

import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import RecombineError, SettingError, SourceError
from recombine_lab.sweeps import grid
from recombine_lab.sweeps.grid import read_plan, store_place, variants
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.training.configurations import seeds_of

GRID = {
    "tasks": ["addition"],
    "splits": ["everything", "hold_out_combinations"],
    "models": [{"name": "mlp", "hidden": [8]}, {"name": "mlp", "hidden": [8], "scale": {"each": [0.5, 2.0]}}],
    "recipes": [{"steps": 4, "lr": {"each": [0.01, 0.1]}}],
    "seeds": 3,
}


def complaint(content, tmp_path=None):
    """What is said of a file."""
    if tmp_path is not None:
        path = tmp_path / "sweep.yaml"
        path.write_text(content, encoding="utf-8")
        content = path
    with pytest.raises(RecombineError) as caught:
        read_plan(content)
    return caught.value


def test_the_grid_is_the_product_of_its_lists():
    plan = read_plan(GRID)
    assert len(plan) == 1 * 2 * 3 * 2 * 3
    found = [(run.split["name"], run.model["scale"], run.recipe["lr"], run.seed) for run in plan.runs]
    default = read_plan(GRID | {"models": ["mlp"]}).runs[0].model["scale"]
    scales = [default, 0.5, 2.0]
    assert found == list(product(["everything", "hold_out_combinations"], scales, [0.01, 0.1], range(3)))
    assert len({run.key for run in plan.runs}) == len(plan)


def test_the_order_of_settings_does_not_matter():
    turned = GRID | {"models": [{"hidden": [8], "name": "mlp"}, GRID["models"][1]]}
    assert [run.key for run in read_plan(turned).runs] == [run.key for run in read_plan(GRID).runs]


def test_one_entry_needs_no_brackets_and_seeds_may_be_named():
    plan = read_plan(
        {"tasks": "addition", "splits": "everything", "models": "mlp", "recipes": {"steps": 1}, "seeds": [7]}
    )
    assert [run.seed for run in plan.runs] == [7]


def test_a_file_says_what_a_mapping_says(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "store: here\ntasks: [addition]\nsplits: [everything]\nmodels: [mlp]\n"
        "recipes: [{steps: 4, lr: {each: [1e-3, 0.01]}}]\nseeds: 2\n"
    )
    plan = read_plan(path)
    assert [run.recipe["lr"] for run in plan.runs] == [0.001, 0.001, 0.01, 0.01]
    assert store_place(plan) == str((tmp_path / "here").absolute()) or store_place(plan).endswith("/here")
    assert store_place(plan, "s3://bucket/runs") == "s3://bucket/runs"


@pytest.mark.parametrize(
    ("skip", "left"),
    [
        ([{"split": "everything"}], 18),
        ([{"split": "everything", "seed": 0}], 30),
        ([{"split": "everything", "seed": [0, 1]}], 24),
        ([{"model": {"scale": 2.0}}], 24),
        ([{"recipe": {"lr": "1e-2"}}], 18),
        ([{"model": {"scale": {"each": [0.5, 2.0]}}, "recipe": {"lr": 0.1}}], 24),
        ([{"split": "everything"}, {"seed": 0}], 12),
    ],
)
def test_rules_leave_out_what_has_all_that_they_name(skip, left):
    assert len(read_plan(GRID | {"skip": skip})) == left


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True), min_size=1, max_size=4))
def test_variants_are_the_product_of_every_each(choices):
    entry = {f"setting{k}": {"each": values} for k, values in enumerate(choices)}
    expected = [dict(zip(entry, values, strict=True)) for values in product(*choices)]
    assert list(variants(entry | {"name": "x"})) == [point | {"name": "x"} for point in expected]


def test_a_list_is_a_value_and_each_may_stand_deep():
    assert list(variants({"base": {"name": "donut", "inner": {"each": [1, 2]}}, "sizes": [3, 4]})) == [
        {"base": {"name": "donut", "inner": 1}, "sizes": [3, 4]},
        {"base": {"name": "donut", "inner": 2}, "sizes": [3, 4]},
    ]


@pytest.mark.parametrize(
    ("change", "what", "instead"),
    [
        ({"modles": []}, "no setting 'modles'", "did you mean 'models'?"),
        ({"models": []}, "'models' is empty", "at least one entry"),
        ({"models": [{"name": "mpl"}]}, "'models', entry 1: no model 'mpl'", "did you mean 'mlp'?"),
        ({"models": ["mlp", {"name": "mlp", "hiden": [8]}]}, "'models', entry 2: the model 'mlp' has no", "'hidden'"),
        ({"tasks": ["adition"]}, "'tasks', entry 1: no task 'adition'", "did you mean 'addition'?"),
        ({"splits": ["everythin"]}, "no split 'everythin'", "did you mean 'everything'?"),
        ({"recipes": [{"steps": 4, "rl": 0.1}]}, "'rl'", "lr"),
        ({"recipes": [{"lr": 0.1}]}, "recipe", "steps"),
        ({"seeds": 0}, "'seeds' cannot be 0", "seeds: 3"),
        ({"seeds": []}, "'seeds' cannot be []", "seeds: 3"),
        ({"seeds": [1, 1]}, "'seeds' cannot be", "seeds: 3"),
        ({"seeds": "many"}, "'seeds' cannot be 'many'", "seeds: 3"),
        ({"seeds": True}, "'seeds' cannot be True", "seeds: 3"),
        ({"seeds": "three"}, "'seeds' cannot be 'three'", "counted, or listed as whole numbers"),
        ({"models": [3]}, "'models', entry 1 cannot be 3", "hidden: [64]"),
        ({"models": ["mlp", "cnn"]}, "'models', entry 2 (cnn) on 'tasks', entry 1 (addition): CNN cannot", "image"),
        ({"splits": ["everything", {"name": "combination_k_fold", "fold": 99}]}, "'splits', entry 2", "fold=99"),
        ({"models": [3]}, "'models', entry 1 cannot be 3", "models: ["),
        ({"models": ["mlp", "mlp"]}, "the same run twice", "take one of them out"),
        ({"recipes": [{"steps": 4, "lr": {"each": []}}]}, "'recipes', entry 1: {each: []}", "at least one value"),
        ({"recipes": [{"steps": 4, "lr": {"each": [1], "also": 2}}]}, "'each' beside 'also'", "lr: {each:"),
        ({"skip": [{"modle": "mlp"}]}, "'skip', entry 1: no part 'modle'", "did you mean 'model'?"),
        ({"skip": [{"model": "cnn"}]}, "leaves out nothing", "take the rule out"),
        ({"skip": [{}]}, "leaves out nothing", "take the rule out"),
        ({"skip": [{"model": "mlp"}]}, "leaves out all 36 runs", "name more parts"),
        ({"seeds": list(range(200_000))}, "a grid of 2,400,000 runs", "several files"),
    ],
)
def test_what_is_wrong_with_a_grid(change, what, instead):
    error = complaint(GRID | change)
    assert what in error.what, error
    assert instead in str(error), error


def test_pairs_that_are_left_out_need_not_fit():
    both = {"models": ["mlp", "cnn"], "skip": [{"model": "cnn"}]}
    assert {run.model["name"] for run in read_plan(GRID | both).runs} == {"mlp"}


def test_a_pair_is_tried_once_however_many_seeds(monkeypatch):
    tried = []
    monkeypatch.setattr(grid, "_try_model", lambda run, task, examples: tried.append(run.model["scale"]))
    read_plan(GRID)
    assert len(tried) == 3


def test_what_a_model_raises_is_told_with_its_place(monkeypatch):
    def attempt(run, task, examples):
        raise RuntimeError("no such shape")

    monkeypatch.setattr(grid, "_try_model", attempt)
    error = complaint(GRID)
    assert "'models', entry 1 (mlp)" in error.what
    assert error.why == "RuntimeError: no such shape"


def test_data_that_are_missing_are_told_at_once(tmp_path, monkeypatch):
    def nowhere(*_, **__):
        raise SourceError("no images", why="they are on no disk", instead="fetch them")

    monkeypatch.setattr(TASKS.load("addition"), "render", nowhere)
    error = complaint(GRID)
    assert error.what == "the sweep: 'tasks', entry 1 (addition): no images"


@pytest.mark.parametrize("field", ["tasks", "splits", "models", "recipes"])
def test_what_is_missing_is_named(field):
    error = complaint({name: value for name, value in GRID.items() if name != field})
    assert error.what == f"the sweep: {field!r} is missing"
    assert f"{field}: [" in error.instead


@pytest.mark.parametrize(
    ("text", "kind", "what", "why"),
    [
        ("tasks: [addition\nsplits: []\n", SourceError, "is not YAML: line 2, column 7", "expected"),
        ("tasks:\n\t- addition\n", SourceError, "is not YAML: line 2, column 1", "cannot start any token"),
        (
            "seeds: 3\ntasks: [a]\nseeds: 4\n",
            SettingError,
            "'seeds' stands there twice: line 3, column 1",
            "only one of the two",
        ),
        ("", SettingError, "holds no settings", "tasks, splits"),
        ("- a\n- b\n", SettingError, "holds ['a', 'b']", "tasks, splits"),
        ("tasks: !!python/object:os.system [x]\n", SourceError, "is not YAML: line 1", "constructor"),
    ],
)
def test_what_is_wrong_with_a_file(text, kind, what, why, tmp_path):
    error = complaint(text, tmp_path)
    assert isinstance(error, kind)
    assert what in error.what
    assert why in error.why


def test_a_file_that_is_not_there(tmp_path):
    error = complaint(tmp_path / "none.yaml")
    assert isinstance(error, SourceError)
    assert error.why == "No such file or directory"


def test_no_store_anywhere():
    with pytest.raises(SettingError, match="no store"):
        store_place(read_plan(GRID))


def test_more_seeds_than_can_be_listed():
    for seeds in (10**9, 10**30):
        assert "at most 1,000,000" in str(complaint(GRID | {"seeds": seeds}))
        with pytest.raises(SettingError, match="seeds"):
            seeds_of(seeds)
    assert seeds_of(3) == (0, 1, 2)


def test_variants_are_counted_before_they_are_made():
    many = {f"setting{k}": {"each": list(range(10))} for k in range(30)}
    found = complaint(GRID | {"models": [{"name": "mlp"} | many]})
    assert "more than 10^15 runs" in found.what
    assert "entry 1" in found.what
    pairs = [{"each": [1, 2]}] * 40
    assert "at most 1,000,000" in complaint(GRID | {"models": [{"name": "mlp", "hidden": pairs}]}).why


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 12)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (BOMB, "too many entries: line 5"),
        ("tasks: " + "[" * 100_000, "within one another: line 1, column"),
        ("tasks: " + "{a: " * 3_000 + "}" * 3_000, "within one another"),
        ("tasks:\n" + "".join(" " * k + "-\n" for k in range(1, 300)), "within one another"),
        ("tasks: &a [*a]\n", "'a' holds itself"),
        ("base: &b {x: 1}\ntasks: {<<: [" + ", ".join(["*b"] * 60_000) + "]}\n", "too many entries"),
        pytest.param(
            "seeds: [" + ", ".join(map(str, range(200_000))) + "]", "too many entries", marks=pytest.mark.slow
        ),
        ("tasks: " + "x" * 20_000_000, "more than 10,000,000 characters"),
        ("{[a]: b}", "is no name"),
        ("{{a: b}: c}", "is no name"),
        ("seeds: " + "9" * 5_000, "cannot read"),
        ("tasks: 2020-99-99", "cannot read"),
        ("tasks: *nowhere", "is not YAML"),
    ],
)
def test_a_file_that_grows_when_it_is_read(content, said, tmp_path):
    began = time.process_time()  # whatever else the machine does
    assert said in str(complaint(content, tmp_path))
    assert time.process_time() - began < 30  # a bomb of this size took more than 60 s, and all memory


def test_aliases_and_marks_in_front_are_read_as_ever(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "\ufeffrecipes: [&base {steps: 4}, {<<: *base, lr: 0.1}]\n"
        "tasks: [addition]\nsplits: [everything]\nmodels: [mlp]\n",
        encoding="utf-8",
    )
    assert [run.recipe["lr"] for run in read_plan(path).runs] == [0.001, 0.1]
    assert "File name too long" in complaint("x" * 5_000 + ".yaml").why
