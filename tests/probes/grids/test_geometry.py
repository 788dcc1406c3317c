"""The one call: what it says of what is known, from whatever it is given, and what it refuses."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

import recombine
from recombine.base.errors import ColumnError, SettingError, SourceError, TableError
from recombine_lab import Recipe, fit, models
from recombine_lab.probes.geometry_probe import layer_sources
from recombine_lab.probes.geometry_probe.geometry import salience_at
from recombine_lab.tasks import Addition, Bumps
from tests.probes.flat import geometry
from tests.probes.grids.worlds import bumps, codes_of, corner, one_hot

N = 10


def table(n=N):
    codes = codes_of(n, n)
    return {"x": codes[:, 0], "y": codes[:, 1]}


def of(features, n=N, **settings):
    return geometry(features, table=table(n), **({"repeats": 3} | settings))


# what is known through and through


def test_a_lookup_table_is_memorised():
    found = of(np.eye(N * N))
    assert (found.outcome, found.grade) == ("memorised", "failing")
    assert found.value("orthogonality") > 0.9, "which flags nothing"
    assert found.value("linear probe") < 0.05


def test_unrelated_vectors_are_memorised():
    assert of(np.random.default_rng(0).standard_normal((N * N, 300))).outcome == "memorised"


def test_a_code_is_apart():
    """Every random feature mixes a little; the code itself does not. What is made of it is not known, so it is weak."""
    found = of(one_hot(N, N))
    assert (found.outcome, found.grade) == ("apart", "weak")
    assert "not known" in found.verdict
    assert found.value("additivity") == pytest.approx(1)
    assert found.value("additivity", who="random features") < 0.95


def test_a_memorised_table_behind_a_layer_that_is_apart_is_not_called_apart():
    """A layer that passes the code on, and answers that are looked up in a random table."""
    answers = np.random.default_rng(0).standard_normal((N * N, 300))
    found = of({"hidden": one_hot(N, N), "answer": answers})
    assert (found.outcome, found.grade) == ("unclear", "untested")
    assert "no more alike" in found.verdict
    assert of({"hidden": one_hot(N, N), "answer": one_hot(N, N)}).outcome == "apart"


@pytest.mark.parametrize(("wrong", "outcome"), [(True, "unclear"), (False, "apart")])
def test_a_layer_is_told_together_with_the_answers_to_unseen_combinations(wrong, outcome):
    rng = np.random.default_rng(1)
    single, seen = rng.standard_normal((2 * N, 30)), corner(N, N // 2)
    truth = one_hot(N, N) @ single
    answers = np.where(seen[:, None] | (not wrong), truth, rng.standard_normal(truth.shape))
    found = of({"hidden": one_hot(N, N), "answer": answers}, seen=seen, truth=truth)
    hidden = found.tables["layers"].to_pylist()[0]
    assert hidden["outcome"] == outcome
    assert "On unseen combinations the error is" in hidden["verdict"]
    assert hidden["grade"] == ("untested" if wrong else found.grade)


def memoriser(seed, n=8, width=12, steps=400):
    """A network that was trained on every combination of a random table, and its inputs."""
    rng = np.random.default_rng(seed)
    codes, places = codes_of(n, n), rng.standard_normal((2, n, width))
    named = torch.from_numpy(rng.integers(0, 16, n * n))

    def shown(rows):
        clean = np.concatenate([places[0][codes[rows, 0]], places[1][codes[rows, 1]]], axis=1)
        return torch.from_numpy(clean + 0.3 * rng.standard_normal(clean.shape)).float()

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Linear(2 * width, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    adam = torch.optim.Adam(network.parameters(), 5e-3)
    for _ in range(steps):
        rows = rng.integers(len(codes), size=64)
        adam.zero_grad()
        nn.functional.cross_entropy(network(shown(rows)), named[rows]).backward()
        adam.step()
    every = np.repeat(np.arange(len(codes)), 3)
    inputs, values = shown(every), codes[every]
    assert (network(inputs).argmax(1) == named[every]).float().mean() > 0.95
    return network, inputs, {"x": [f"x{v}" for v in values[:, 0]], "y": [f"y{v}" for v in values[:, 1]]}


@pytest.mark.slow
@pytest.mark.parametrize("layers", [None, ["2"]])
def test_no_layer_of_a_trained_memoriser_is_more_than_weakly_apart(layers):
    """Its middle layer is more additive than that of any control, and was called apart, plausible."""
    network, inputs, values = memoriser(0)
    found = geometry(network, inputs=inputs, table=values, repeats=3, layers=layers)
    for row in [*found.tables["layers"].to_pylist(), {"outcome": found.outcome, "grade": found.grade}]:
        assert row["outcome"] != "apart" or row["grade"] == "weak"
    if layers is not None:
        assert "What the answers do on unseen combinations is not known" in found.verdict


def test_the_true_renderer_is_apart_as_a_product():
    found = of(bumps(16), n=16)
    assert found.outcome == "apart"
    assert "product" in found.verdict
    assert found.value("additivity") < 0.5, "though products are not additive"


def test_random_features_are_inherited():
    layer = np.maximum(one_hot(N, N) @ np.random.default_rng(5).standard_normal((2 * N, 512)), 0)
    assert of(layer).outcome == "inherited"


@pytest.mark.parametrize("seed", range(8))
def test_random_features_never_pass_for_apart(seed):
    layer = one_hot(N, N)
    for _ in range(1 + seed % 3):
        layer = np.maximum(layer @ np.random.default_rng(seed).standard_normal((layer.shape[1], 200)), 0)
    assert of(layer, seed=seed).outcome in ("inherited", "mixed")


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_a_memory_that_shares_a_little_never_passes_for_a_product(share):
    """An adversary: a table of memories with a little of the code beside it is as separable as a true picture."""
    found = of(np.concatenate([np.eye(N * N), np.sqrt(share) * one_hot(N, N)], axis=1))
    assert found.outcome in ("mixed", "memorised", "unclear")
    assert found.value("separability, centred") > 0.6


def test_a_sum_modulo_is_not_apart():
    """Each sum of the values, modulo their number, has a vector of its own: no value means anything alone."""
    codes = codes_of(N, N)
    found = of(np.eye(N)[codes.sum(axis=1) % N])
    assert found.outcome == "memorised"
    assert found.value("linear probe") < 0.05
    assert found.value("additivity") == pytest.approx(0, abs=1e-9)


def test_a_constant_layer_says_nothing():
    found = of(np.ones((N * N, 4)))
    assert (found.outcome, found.grade) == ("unclear", "untested")
    assert found.value("additivity") is None
    assert found.value("orthogonality") is None
    assert found.value("separability, centred") is None


def test_two_values_each_say_nothing():
    codes = codes_of(2, 2)
    found = geometry(one_hot(2, 2), table={"x": codes[:, 0], "y": codes[:, 1]}, repeats=3)
    assert found.outcome == "unclear"
    assert "no factor has three values" in found.verdict


def test_three_factors():
    codes = codes_of(4, 3, 5)
    columns = {"a": codes[:, 0], "b": codes[:, 1], "c": [f"c{k}" for k in codes[:, 2]]}
    found = geometry(one_hot(4, 3, 5), table=columns, repeats=3)
    assert found.outcome == "apart"
    assert found.value("interaction of 2") == pytest.approx(0, abs=1e-9)
    assert found.value("salience of 1") == pytest.approx(1 / 3)
    assert found.value("linear probe of c") == pytest.approx(1)
    pairs = np.stack([codes[:, 0] * 3 + codes[:, 1], codes[:, 2]], axis=1)
    found = geometry(
        np.concatenate([np.eye(12)[pairs[:, 0]], np.eye(5)[pairs[:, 1]]], axis=1), table=columns, repeats=3
    )
    assert found.value("interaction of 2") > 0.2
    assert found.value("interaction of 3") == pytest.approx(0, abs=1e-9)


# answers beside the truth


def answers_of(kind, n=12):
    """Right everywhere, right where it was seen, right nowhere."""
    truth, seen = bumps(n), corner(n, n // 2)
    if kind == "right":
        return truth
    if kind == "nowhere":
        return np.random.default_rng(0).standard_normal(truth.shape)
    if kind == "from memory":
        return truth * seen[:, None]
    codes = codes_of(n, n)
    found = truth.copy().reshape(n, n, -1)
    for x, y in codes[~seen]:
        found[x, y] = found[x, 2] + found[2, y]
    return found.reshape(n * n, -1)


@pytest.mark.parametrize(
    ("kind", "outcome", "grade"),
    [
        ("right", "apart", "sound"),
        ("from memory", "memorised", "failing"),
        ("superposed", "memorised", "failing"),
        ("nowhere", "unclear", "untested"),
    ],
)
def test_answers_beside_the_truth(kind, outcome, grade):
    n = 12
    found = of(answers_of(kind), n=n, seen=corner(n, n // 2), truth=bumps(n), rest=0.0)
    assert (found.outcome, found.grade) == (outcome, grade), found.verdict
    assert found.value("error on unseen / trivial", who="lookup table") == pytest.approx(1)
    assert found.value("superposition beyond the truth", who="truth") == 0
    if kind == "superposed":
        assert found.value("superposition") == pytest.approx(1)


def test_a_right_answer_that_random_features_give_too_is_inherited():
    """A sum of the values: any fixed features of the code learn it from the seen."""
    n = 10
    wanted = codes_of(n, n).sum(axis=1, keepdims=True) * 1.0
    seen = np.random.default_rng(0).random(n * n) < 0.8
    noise = np.random.default_rng(1).standard_normal(wanted.shape)
    found = of(wanted + noise, n=n, seen=seen, truth=wanted)
    assert found.outcome == "inherited", found.verdict
    assert "random features" in found.verdict


def test_dark_bumps_say_the_same_as_bright_ones():
    n = 12
    bright, dark = (
        of(picture(answers_of("superposed")), n=n, seen=corner(n, 6), truth=picture(bumps(n)))
        for picture in (lambda one: one, lambda one: 1 - one)
    )
    assert bright.outcome == dark.outcome == "memorised"
    for name in ("superposition", "error on unseen / trivial"):
        assert dark.value(name) == pytest.approx(bright.value(name), rel=0.02)
    where = "unseen energy on unlit outputs"
    assert dark.value(where, who="truth") == pytest.approx(bright.value(where, who="truth"), abs=1e-5)


def test_a_truth_without_unseen_combinations_is_no_question():
    found = of(bumps(N), truth=bumps(N), seen=np.ones(N * N, dtype=bool))
    assert "error on unseen / trivial" not in found.numbers


# modules


def network(width=20):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2 * N, width), nn.ReLU(), nn.Linear(width, 3))


def inputs():
    return torch.from_numpy(one_hot(N, N)).float()


def test_a_module_is_asked_layer_by_layer_and_left_as_it_was():
    module = network()
    module.train()
    before = {name: weight.clone() for name, weight in module.state_dict().items()}
    found = of(module, inputs=inputs())
    assert found.tables["layers"]["where"].to_pylist() == ["0", "1", "answer"]
    assert module.training
    assert all(torch.equal(weight, before[name]) for name, weight in module.state_dict().items())
    assert not any(part._forward_hooks for part in module.modules())
    assert found.value("additivity", where="0") == pytest.approx(1, abs=1e-5)
    assert found.value("additivity", where="1", who="random network") < 0.99
    changes = found.tables["changes"].to_pylist()
    one = next(row for row in changes if row["measure"] == "additivity" and row["who"] == "measured")
    assert one["change"] == pytest.approx(found.value("additivity", where="1") - found.value("additivity", where="0"))


def test_an_untrained_network_is_inherited():
    """Its own re-initialisation is what it is held against."""
    assert of(network(200), inputs=inputs(), repeats=5).outcome == "inherited"


def test_several_rows_of_a_combination_are_averaged():
    rng = np.random.default_rng(0)
    columns = {name: np.tile(values, 3) for name, values in table().items()}
    noise = rng.standard_normal((3, N * N, 2 * N))
    noise -= noise.mean(axis=0)
    rows = (one_hot(N, N) + noise).reshape(-1, 2 * N)
    found = geometry(rows, table=columns, repeats=3)
    assert found.value("additivity") == pytest.approx(1, abs=1e-5)
    assert any("mean of 3 rows" in reason for reason in found.reasons)
    order = rng.permutation(len(rows))
    again = geometry(rows[order], table={name: values[order] for name, values in columns.items()}, repeats=3)
    assert again.value("additivity") == pytest.approx(found.value("additivity"), abs=1e-6)


def test_holes_in_the_grid():
    kept = np.ones(N * N, dtype=bool)
    kept[[3, 57]] = False
    columns = {name: values[kept] for name, values in table().items()}
    found = geometry(one_hot(N, N)[kept], table=columns, repeats=3)
    assert found.value("additivity") == pytest.approx(1)
    assert found.outcome == "apart"
    assert any("2 combinations have no row" in reason for reason in found.reasons)


def test_a_diagonal_leaves_no_grid():
    found = geometry(np.eye(8), table={"x": range(8), "y": range(8)}, repeats=3)
    assert found.outcome == "unclear"


def test_rows_with_one_factor_alone_are_the_partial_inputs():
    columns = {"x": [*table()["x"], *range(N), *[None] * N], "y": [*table()["y"], *[None] * N, *range(N)]}
    alone = np.concatenate([np.eye(N, 2 * N), np.eye(2 * N)[N:]])
    rows = torch.from_numpy(np.concatenate([one_hot(N, N), alone])).float()
    found = geometry(network(), inputs=rows, table=columns, repeats=3)
    assert found.value("partial input", where="0") == pytest.approx(1, abs=1e-4)
    assert found.value("partial input", where="answer") < 0.999
    assert "partial input" not in of(network(), inputs=inputs()).table["measure"].to_pylist()


def test_inputs_by_keyword_and_a_forward_of_ones_own():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2 * N, 5)

        def forward(self, *, codes):
            return {"out": self.layer(codes)}

    module = Named()
    found = of(module, inputs={"codes": inputs()}, layers="layer")
    assert found.value("additivity", where="layer") == pytest.approx(1, abs=1e-5)
    found = of(module, inputs=inputs(), forward=lambda module, batch: module(codes=batch)["out"], layers=["answer"])
    assert found.value("additivity", where="answer") == pytest.approx(1, abs=1e-5)


def test_a_layer_that_gives_no_row_for_each_input_is_left_out_or_refused():
    model = models.SpatialBroadcast(width=8)
    shapes = Bumps(size=N, code="onehot").shapes
    module = model.build(shapes)
    found = of(module, inputs=inputs())
    assert "first" not in found.tables["layers"]["where"].to_pylist()
    with pytest.raises(SettingError, match="gives no row for each input"):
        of(module, inputs=inputs(), layers=["first"])


def test_a_wide_layer_keeps_a_part_of_its_numbers(monkeypatch):
    whole = of(network(300), inputs=inputs(), layers=["1"]).value("additivity")
    monkeypatch.setattr(layer_sources, "MOST_FEATURES", 150)
    assert of(network(300), inputs=inputs(), layers=["1"]).value("additivity") == pytest.approx(whole, abs=0.05)


def test_a_wide_answer_and_its_truth_keep_the_same_numbers(monkeypatch):
    n, settings = 12, {"seen": corner(12, 6), "truth": bumps(12), "rest": 0.0, "n": 12}
    whole = of(answers_of("superposed"), **settings)
    monkeypatch.setattr(layer_sources, "MOST_FEATURES", n * n - 20)
    part = of(answers_of("superposed"), **settings)
    assert part.outcome == whole.outcome == "memorised"
    assert part.value("error on unseen / trivial") == pytest.approx(whole.value("error on unseen / trivial"), rel=0.3)
    assert part.value("error on seen / trivial") == 0


# runs, files


@pytest.fixture(scope="module")
def run():
    task = Bumps(size=8, inverted=False, code="onehot")
    recipe = Recipe(steps=30, batch=16, samples="every", evaluations=2)
    return fit(task, recombine.Corner(["x", "y"], at=4), models.MLP(hidden=(32,)), recipe, progress=None)[0]


def test_a_run_knows_all_of_it(run):
    found = geometry(run, repeats=3)
    assert found.provenance.source.startswith("run ")
    assert "16 of them unseen" in found.reasons[0]
    for name in ("superposition", "partial input", "stripes on own axis", "error on unseen / trivial"):
        assert found.value(name, where="answer") is not None, name
        own = next(
            one
            for one in found.table.to_pylist()
            if (one["where"], one["measure"], one["who"]) == ("answer", name, "measured")
        )
        assert own["low"] <= own["value"] <= own["high"], name
    assert found.value("outputs unlit", who="truth") >= 0


def test_a_run_of_a_task_with_numbers():
    recipe = Recipe(steps=20, batch=8, samples="every", evaluations=2)
    run = fit(Addition(values=5), "hold_out_combinations", models.MLP(hidden=(16,)), recipe, progress=None)[0]
    found = geometry(run, repeats=3)
    assert found.rows == 100
    assert "5" in found.reasons[0]


def test_a_parquet_file_of_features(tmp_path):
    path = tmp_path / "features.parquet"
    seen = corner(N, 5)
    columns = {name: values.tolist() for name, values in table().items()}
    pq.write_table(
        pa.table(columns | {"early": one_hot(N, N).tolist(), "late": np.eye(N * N).tolist(), "shown": seen.tolist()}),
        path,
    )
    found = geometry(str(path), factors=["x", "y"], seen="shown", repeats=3)
    assert found.tables["layers"]["outcome"].to_pylist() == ["apart", "memorised"]
    assert found.outcome == "memorised"
    assert geometry(path, factors=["x", "y"], layers="early", repeats=3).outcome == "apart"
    with pytest.raises(ColumnError, match="no column 'lat'"):
        geometry(path, factors=["x", "y"], layers="lat")


def test_layers_as_arrays():
    found = of({"early": one_hot(N, N), "late": np.eye(N * N)})
    assert found.tables["layers"]["where"].to_pylist() == ["early", "late"]
    assert of({"early": one_hot(N, N), "late": np.eye(N * N)}, layers=["early"]).outcome == "apart"


# what it hands back


def test_it_is_saved_loaded_and_drawn(tmp_path):
    found = of(network(), inputs=inputs(), command="recombine probe geometry spec.py")
    again = recombine.load(found.save(tmp_path / "probe"))
    assert again == found
    assert "additivity" in again.page(tmp_path / "probe.html").read_text(encoding="utf-8").lower()
    assert {"measures", "layers", "changes", "salience"} <= set(found.tables)


def test_every_measure_stands_beside_its_controls():
    found = of(network(), inputs=inputs())
    rows = found.table.to_pylist()
    for where in ("0", "1", "answer"):
        for name in ("additivity", "separability, centred", "orthogonality", "linear probe", "effective rank"):
            whose = {row["who"] for row in rows if (row["where"], row["measure"]) == (where, name)}
            assert {"measured", "lookup table", "random features", "shuffled factors", "random network"} <= whose
    shuffled = next(row for row in rows if row["who"] == "shuffled factors" and row["measure"] == "additivity")
    assert shuffled["n"] == 3
    assert shuffled["low"] < shuffled["value"] < shuffled["high"]


def test_the_same_seed_gives_the_same_numbers():
    one, two, other = (of(network(), inputs=inputs(), seed=seed).table for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_salience_feeds_a_prediction():
    layer = np.maximum(one_hot(N, N) @ np.random.default_rng(0).standard_normal((2 * N, 2000)), 0)
    found = of(layer)
    salience = salience_at(found, "features")
    assert salience.saliences[0] == pytest.approx(0.4264, abs=0.02)
    seen = corner(N, 5)
    rows = {name: values[seen] for name, values in table().items()} | {"sum": codes_of(N, N).sum(axis=1)[seen] * 1.0}
    asked = {"factors": ["x", "y"], "target": "sum", "target_kind": "number"}
    by_object = recombine.predict(rows, salience=salience, **asked)
    written = found.tables["salience"]["written"][0].as_py()
    assert written.startswith("order:")
    assert recombine.predict(rows, salience=written, **asked).verdict == by_object.verdict


def test_progress_is_told():
    told = []
    of(network(), inputs=inputs(), progress=lambda what, share: told.append((what, share)))
    assert told[-1] == ("deciding", 1.0)
    shares = [share for _, share in told if share is not None]
    assert shares == sorted(shares)


# what it refuses


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"layers": ["10"]}, SettingError, "no layer '10'"),
        ({"inputs": None}, SettingError, "without inputs"),
        ({"table": None}, SettingError, "without table"),
        ({"table": {"x": [1, 2], "y": [1, 2]}}, SettingError, "inputs of 100 rows"),
        ({"factors": ["x", "z"]}, ColumnError, "no factor 'z'"),
        ({"factors": ["x"]}, SettingError, "1 factors"),
        ({"seen": [True]}, SettingError, "seen of shape"),
        ({"seen": "shown"}, ColumnError, "no column 'shown'"),
        ({"ordered": ["z"]}, SettingError, "ordered='z'"),
        ({"axes": {"z": 0}}, SettingError, "it is no factor"),
        ({"truth": np.ones(3)}, SettingError, "truth of shape"),
        ({"truth": np.full((100, 3), np.nan)}, SettingError, "truth of shape"),
        ({"truth": np.ones((100, 2)), "seen": corner(N, 5)}, SettingError, "a truth of 2 numbers"),
        ({"truth": np.ones((100, 3)), "seen": corner(N, 5), "rest": [1.0]}, SettingError, "rest of shape"),
        ({"repeats": 2}, SettingError, "repeats=2"),
        ({"seed": -1}, SettingError, "seed=-1"),
        ({"inputs": torch.ones(100, 3)}, SettingError, "cannot be asked about the inputs"),
        ({"table": 3}, SettingError, "table=int"),
    ],
)
def test_a_module_with_settings_that_mean_nothing(settings, error, words):
    with pytest.raises(error, match=words):
        geometry(network(), **({"inputs": inputs(), "table": table()} | settings))


@pytest.mark.parametrize(
    ("features", "columns", "error", "words"),
    [
        (np.ones((3, 2)), table(), SettingError, "of shape"),
        (np.full((100, 2), np.nan), table(), TableError, "NaN"),
        (object(), table(), SettingError, "a model of type object"),
        (np.ones((4, 2)), {"x": [1, 1, 1, 1], "y": [1, 2, 3, 4]}, TableError, "'x' has 1 value"),
        (np.ones((2, 2)), {"x": [1, None], "y": [None, 2]}, TableError, "has 1 value"),
        (np.ones((4, 2)), {"x": [1, 2, None, None], "y": [None, None, 1, 2]}, TableError, "every factor"),
        (np.ones((2, 2)), {"x": [1, "a"], "y": [1, 2]}, ColumnError, "mixes kinds"),
        (np.ones((2, 2)), {"x": [1, 2], "y": [1]}, TableError, "rows"),
        (np.ones((2, 2)), None, SettingError, "features without a table"),
        ("nowhere.parquet", None, SourceError, "no file"),
    ],
)
def test_features_that_mean_nothing(features, columns, error, words):
    with pytest.raises(error, match=words):
        geometry(features, table=columns)
