"""Models, tasks and splits of one's own: by name wherever a name is taken, found again by their source."""

import importlib
import importlib.metadata
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
import yaml
from sklearn.model_selection import ShuffleSplit
from torch import nn
from transformers import ViTConfig, ViTForImageClassification

from recombine.base import plugins
from recombine.base.errors import SettingError
from recombine_lab import Recipe, Store, fit, models, sweep, tasks, trust
from recombine_lab.base.source_versions import _distributions, place_of, source_version
from recombine_lab.models.catalogue import MODELS
from recombine_lab.runs.run_list import list_runs
from recombine_lab.sweeps.sweep import dry_run
from recombine_lab.tasks.catalogue import TASKS
from tests.lab.own.things import Difference, EveryNth, Named, NamedNet, Net, make_net

THINGS = "tests.lab.own.things"
RECIPE = {"steps": 4, "samples": "every", "evaluations": 1}
NET = {"name": f"{THINGS}:Net", "inputs": 8, "outputs": 2}


def fitted(model, **given):
    return fit(Difference(), "hold_out_combinations", model, RECIPE, progress=None, **given)[0]


def test_a_class_a_wrapped_one_a_place_and_a_short_name_are_one_run():
    models.register("mine", Net)
    tasks.register("difference", Difference)
    settings = {"inputs": 8, "outputs": 2}
    runs = [fitted(models.wrap(Net, **settings)), fitted(NET), fitted({"name": "mine", **settings})]
    runs += fit("difference", "hold_out_combinations", NET, RECIPE, progress=None)
    assert len({run.key for run in runs}) == 1
    assert runs[0].configuration.model == NET
    assert "model source " in runs[0].configuration.code


def test_a_function_may_ask_for_the_shapes_of_the_task():
    run = fitted(make_net)
    assert run.configuration.model == {"name": f"{THINGS}:make_net"}
    assert isinstance(run.module(), Net)


@pytest.mark.parametrize("gives", ["logits", "tuple", "mapping"])
def test_answers_in_an_envelope_are_taken_out_of_it(gives):
    plain, packed = fitted(NET), fitted(NET | {"gives": gives})
    assert packed.metrics == plain.metrics


def test_hugging_faces_own_classifier_is_a_model():
    def make(shapes):
        config = ViTConfig(
            image_size=28, num_channels=1, patch_size=7, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=8, num_labels=shapes.outputs[0],
        )  # fmt: skip
        return ViTForImageClassification(config)

    pictures = {"a": ["x", "y"] * 8, "b": ["u"] * 8 + ["v"] * 8, "y": [0, 1] * 8}
    task = tasks.TableTask(source=pictures, inputs=torch.rand(16, 1, 28, 28).numpy(), factors=("a", "b"), target="y")
    (run,) = fit(task, "everything", make, RECIPE, progress=None)
    assert run.status == "finished"


def test_a_setting_called_name_does_not_take_the_place_of_the_name():
    run = fitted(Named(name="shallow"))
    assert run.configuration.model == {"name": f"{THINGS}:Named", "name_": "shallow"}
    assert MODELS.build(run.configuration.model) == Named(name="shallow")
    assert run.configuration.flat()["model"] == f"{THINGS}:Named"
    assert run.module().head.in_features == 4


def test_a_setting_called_name_of_a_network_of_ones_own_is_kept_beside_its_place(tmp_path):
    spec = {"name": f"{THINGS}:NamedNet", "name_": "z", "module": 2, "name__": 3}
    wrapped = fitted(models.wrap(NamedNet, name="z", module=2, name_=3), store=tmp_path / "runs")
    assert wrapped.configuration.model == spec
    assert "model source " in wrapped.configuration.code
    assert fitted(spec).key == wrapped.key
    assert Store.open(tmp_path / "runs").get(wrapped.key).module().told == ("z", 2, 3)
    assert fitted(models.wrap(NamedNet, name="y", module=2, name_=3)).key != wrapped.key


def test_what_an_installed_package_adds_is_one_of_the_catalogue(monkeypatch):
    groups = {"recombine_lab.tasks": ("others", "Difference"), "recombine_lab.models": ("mlp", "Named")}

    def entries(group):
        name, made = groups.get(group, ("other", "EveryNth"))
        return {name: importlib.metadata.EntryPoint(name, f"{THINGS}:{made}", group)}

    monkeypatch.setattr(plugins, "_entries", entries)
    run = fit(Difference(), EveryNth(n=3), "mlp", RECIPE, progress=None)[0]
    assert (run.configuration.task["name"], run.configuration.split["name"]) == ("others", "other")
    assert fit("others", {"name": "other", "n": 3}, "mlp", RECIPE, progress=None)[0].key == run.key
    assert "others" in TASKS.names()
    assert isinstance(MODELS.build("mlp"), models.MLP)  # a name of ours stays ours
    with pytest.raises(SettingError, match="did you mean 'others'"):
        TASKS.build("other")
    with pytest.raises(SettingError, match="it names a task of tests"):
        tasks.register("others", Difference)


def test_the_numbers_of_what_a_package_adds_have_its_version(monkeypatch):
    entry = importlib.metadata.EntryPoint("others", f"{THINGS}:Difference", "recombine_lab.tasks")
    monkeypatch.setattr(plugins, "_entries", lambda group: {"others": entry})
    assert TASKS.numerics_version({"name": "others"}) == source_version(f"{THINGS}:Difference")
    monkeypatch.setattr(Difference, "NUMERICS", 3, raising=False)
    assert TASKS.numerics_version({"name": "others"}) == "3"


@pytest.mark.slow
def test_a_splitter_of_ones_own_and_one_of_scikit_learn_are_kept(tmp_path):
    for split in (EveryNth(n=3), ShuffleSplit(1, test_size=0.25, random_state=0)):
        (run,) = fit(Difference(), split, "mlp", RECIPE, store=tmp_path / "runs", progress=None)
        assert run.configuration.split["name"] == place_of(type(split))
        again = fit(Difference(), run.configuration.split, "mlp", RECIPE, store=tmp_path / "runs", progress=None)
        assert again[0].key == run.key
    assert len(Store.open(tmp_path / "runs").keys()) == 2


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nowhere:Net", "no module 'nowhere'"),
        (f"{THINGS}:Nett", "did you mean 'Net'"),
        (f"{THINGS}:no_net", "gives str"),
        (f"{THINGS}:Difference", "is not a model"),
        ("subprocess:Popen", "is not a model"),
        (NET | {"depth": 3}, "unexpected keyword argument 'depth'"),
        (NET | {"outputs": 3}, "this task has 2 classes"),
        (NET | {"inputs": 5}, "cannot be multiplied"),
        (NET | {"gives": "words"}, "gives str"),
        (nn.Linear(8, 2), "is made already"),
        ("mlpp", "did you mean 'mlp'"),
    ],
)
def test_what_cannot_be_is_told_in_words(model, words):
    with pytest.raises(SettingError) as refused:
        fitted(model)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("task", "model", "words"),
    [
        ({"name": "agreement", "pair": "subject_verb"}, "mlp", "words by their place in a list"),
        ({"name": f"{THINGS}:Difference"}, NET | {"outputs": 3}, "this task has 2 classes"),
        ({"name": f"{THINGS}:Difference"}, NET | {"inputs": 5}, "cannot be multiplied"),
        ({"name": "addition"}, {"name": "vit"}, "an image"),
    ],
)
def test_a_wrong_pair_ends_in_words_in_a_dry_run(task, model, words, tmp_path):
    grid = {"store": str(tmp_path / "runs"), "tasks": [task], "splits": "own", "models": [model], "recipes": [RECIPE]}
    if task["name"] != "agreement":
        grid["splits"] = "everything"
    with pytest.raises(SettingError) as refused:
        dry_run(grid)
    assert words in str(refused.value)
    assert "'models', entry 1" in refused.value.what


def test_settings_that_there_are_not_are_told_with_those_that_there_are():
    for made, name, instead in (
        (Recipe, "optimizer", "optimiser"),
        (models.MLP, "hiden", "hidden"),
        (tasks.Addition, "value", "values"),
    ):
        with pytest.raises(SettingError, match=f"has no setting '{name}'") as refused:
            made(**{name: 1})
        assert f"did you mean '{instead}'" in refused.value.instead
    with pytest.raises(SettingError, match="Recipe without 'steps'"):
        Recipe()


def test_the_patch_of_a_vision_transformer_fits_the_picture():
    for side, patch in ((28, 7), (32, 8), (30, 6), (13, 1)):
        shapes = tasks.Shapes(inputs=(1, side, side), outputs=(2,), kind="classes")
        module = models.ViT(width=8, heads=2, depth=1, inner=8).start(shapes, seed=0)
        assert module.body.config.patch_size == patch


SOURCE = """
    from helper import width
    from torch import nn

    class Net(nn.Sequential):
        def __init__(self, shapes):
            super().__init__(nn.Flatten(), nn.Linear(shapes.inputs[0], width), nn.Linear(width, 2))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a module of the user's own and a helper beside it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mynet.py").write_text(textwrap.dedent(SOURCE))
    (tmp_path / "helper.py").write_text("width = 4\n")
    yield tmp_path
    for name in ("mynet", "helper"):
        sys.modules.pop(name, None)


def version_after(folder, file, text):
    """What another process would say of the source."""
    (folder / file).write_text(textwrap.dedent(text))
    for name in ("mynet", "helper"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return source_version("mynet:Net")


def test_changed_source_is_another_key_and_a_comment_is_not(folder):
    first = source_version("mynet:Net")
    assert version_after(folder, "mynet.py", f"# a comment\n{textwrap.dedent(SOURCE)}") == first
    assert version_after(folder, "helper.py", "width = 5\n") != first
    assert version_after(folder, "helper.py", "width  =  4  # as before\n") == first
    assert version_after(folder, "mynet.py", SOURCE.replace("nn.Flatten()", "nn.Flatten(1)")) != first


@pytest.mark.slow
def test_the_distribution_of_a_module_is_the_one_that_all_distributions_tell() -> None:
    told = importlib.metadata.packages_distributions()
    for top in ("torch", "numpy", "sklearn", "PIL", "yaml", "_pytest"):
        assert _distributions(top) == sorted(set(told[top]))


def test_source_that_changed_under_a_running_process_is_refused(folder):
    fit(Difference(), "everything", "mynet:Net", RECIPE, progress=None)
    (folder / "helper.py").write_text("width = 5\n")
    with pytest.raises(SettingError, match="has changed since it was imported"):
        fit(Difference(), "everything", "mynet:Net", RECIPE, progress=None)


@pytest.mark.process
def test_a_stored_run_of_another_source_is_trained_anew(folder):
    store = folder / "runs"
    code = f"""
        from recombine_lab import fit, Store
        fit("{THINGS}:Difference", "everything", "mynet:Net", {RECIPE!r}, store="runs", progress=None)
        print(len(Store.open("runs").keys()))
    """
    seen = []
    for width in (4, 5, 4):
        (folder / "helper.py").write_text(f"width = {width}\n")
        path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        seen.append(done.stdout.strip())
    assert seen == ["1", "2", "2"]
    assert store.exists()


def test_weights_are_not_loaded_into_another_source(folder):
    (run,) = fit(Difference(), "everything", "mynet:Net", RECIPE, store=folder / "runs", progress=None)
    kept = Store.open(folder / "runs").get(run.key)
    assert type(kept.module()).__name__ == "Net"
    version_after(folder, "mynet.py", SOURCE.replace("nn.Flatten()", "nn.Flatten(1)"))  # the weights would still fit
    for ask in (kept.module, lambda: kept.latents("1")):
        with pytest.raises(SettingError, match="'mynet:Net' has changed since run") as refused:
            ask()
        assert "train it again" in refused.value.instead


@pytest.mark.process
def test_a_store_from_elsewhere_imports_and_calls_nothing(folder, tmp_path):
    (run,) = fit(Difference(), "everything", "mynet:Net", RECIPE, store=folder / "runs", progress=None)
    (made,) = fit(Difference(), "everything", make_net, RECIPE, store=folder / "runs", progress=None)
    code = f"""
        import sys
        from recombine.base.errors import SettingError
        from recombine_lab import Store, models
        store = Store.open("runs")
        for key in ("{run.key}", "{made.key}"):
            store.get(key).evaluate
            try:
                store.get(key).module()
            except SettingError as error:
                print(error.instead)
        assert "mynet" not in sys.modules
        import mynet
        import {THINGS} as things
        print(type(store.get("{run.key}").module()).__name__)
        try:
            store.get("{made.key}").module()
        except SettingError as error:
            print(error.what)
        models.wrap(things.make_net)
        print(type(store.get("{made.key}").module()).__name__)
    """
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = done.stdout.splitlines()
    assert "recombine_lab.trust('mynet:Net')" in said[0]
    assert said[2] == "Net"
    assert "names 'tests.lab.own.things:make_net'" in said[3]
    assert said[4] == "Net"


@pytest.mark.process
def test_what_the_running_script_defines_is_fitted_and_refused_for_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        from torch import nn
        from recombine.base.errors import SettingError
        from recombine_lab import fit, sweep

        class Net(nn.Sequential):
            def __init__(self, shapes):
                super().__init__(nn.Flatten(), nn.Linear(shapes.inputs[0], 2))

        if __name__ == "__main__":
            task, recipe = "{THINGS}:Difference", {RECIPE!r}
            (run,) = fit(task, "everything", Net, recipe, store="runs", progress=None)
            print(run.status, type(run.module()).__name__)
            grid = {{"tasks": task, "splits": "everything", "models": "__main__:Net", "recipes": recipe}}
            grid["store"] = "runs"
            try:
                sweep(grid, progress=None)
            except SettingError as error:
                print(error.what)
            print(sweep(grid, workers=0, progress=None).skipped)
        """)
    )
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["finished Net", "'__main__:Net' is of the script that is running", "1"]


def test_a_sweeps_file_names_things_of_ones_own(tmp_path):
    trust(make_net)  # another test may have fitted it, which says as much, and may not
    file = tmp_path / "sweep.yaml"
    grid = {"tasks": f"{THINGS}:Difference", "splits": "hold_out_combinations", "models": [NET, f"{THINGS}:make_net"]}
    file.write_text(yaml.safe_dump({"store": str(tmp_path / "runs"), **grid, "recipes": RECIPE, "seeds": 2}))
    result = sweep(file, workers=0, progress=None)
    assert result.finished == 4
    names = {line.settings["model"] for line in list_runs(Store.open(tmp_path / "runs"))}
    assert names == {f"{THINGS}:Net", f"{THINGS}:make_net"}
    assert TASKS.build(f"{THINGS}:Difference") == Difference()
