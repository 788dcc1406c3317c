"""What a store, a sweep's file or a study names as `module:function` is neither imported nor called unasked."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from typer.testing import CliRunner

import recombine_lab
from recombine.base.errors import RecombineError, RecordError, SettingError
from recombine.cli.app import app
from recombine_lab import Store, fit, sweep, trust
from recombine_lab.base.catalogue import settings_of
from recombine_lab.base.source_versions import TRUSTED, places_in
from recombine_lab.models.catalogue import MODELS
from recombine_lab.runs.run import Configuration, Run
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import SPLITS
from recombine_lab.training.pack import job_of
from recombine_lab.training.trust import check_known
from recombine_studies.kernel.measures import task_of, untrained
from recombine_studies.redundancy.measures import network_of
from recombine_studies.study import Bench
from recombine_studies.subnetworks.grids import kept_weights, pretrain, tune
from recombine_studies.subnetworks.measures import search_masks
from tests import mutations
from tests.lab.runs import samples
from tests.properties import examples

HERE = __name__
CALLS: list[Any] = []
UNKNOWN = "planted_module:make"
PLACES = (UNKNOWN, f"{HERE}:called", f"{HERE}:Called", "os:abort", "subprocess:Popen", "planted_module:a.b")


def called(*given: Any) -> Any:
    """A function that a record has no right to call."""
    CALLS.append(given)
    return [(torch.zeros(1), 0)]


class Called:
    """A class that is no part of an experiment: to make one is to call it."""

    def __init__(self, *given: Any) -> None:
        CALLS.append(given)


class Net(nn.Linear):
    """A network of one's own."""

    def __init__(self) -> None:
        super().__init__(2, 2)


@pytest.fixture(autouse=True)
def _planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module that lies where Python looks; nothing here may import it, nor call what this module holds."""
    (tmp_path / "planted_module.py").write_text("def make(): return [(0, 0)]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b,x,y\n1,2,3,4\n1,3,2,1\n")
    before, known = sys.modules.pop("planted_module", None), set(TRUSTED)
    CALLS.clear()
    TRUSTED.clear()  # other tests fit networks of their own, and what is fitted is known from then on
    yield
    assert "planted_module" not in sys.modules
    assert before is None
    assert CALLS == []
    TRUSTED.clear()
    TRUSTED.update(known)


FROM = {"name": "from", "source": "rows.csv", "inputs": "x", "factors": ["a", "b"], "target": "y"}
PARTS = {
    "task": (FROM, {"name": "addition", "values": 3}, {"name": "sprites"}),
    "split": ({"name": "everything"}, {"name": "stripes", "base": {"name": "own"}, "share": 0.5}),
    "model": ({"name": "mlp", "hidden": [2]}, {"name": "odd_one_out", "backbone": {"name": "mlp", "hidden": [2]}}),
}


def stored(**parts: Any) -> Run:
    """A run as a store hands it out; its weights fit no network."""
    made = {"task": {"name": "toy"}, "split": {"name": "own"}, "model": {"name": "mlp"}, "recipe": {}} | parts
    weights = safetensors.torch.save({"w": torch.zeros(1)})
    code = made.pop("code", "task 1, split 1, model 1, training 1")
    configuration = Configuration(**made, seed=made.pop("seed", 0), code=code)
    return replace(samples.run(), configuration=configuration, weights=lambda: weights)


ASKS: dict[str, Callable[[Run], object]] = {
    "module": lambda run: run.module(),
    "latents": lambda run: run.latents("0"),
    "geometry": recombine_lab.probes.geometry,
    "support": lambda run: recombine_lab.probes.support(model=run),
    "influence": recombine_lab.probes.influence,
    "job_of": job_of,
    "kernel, its task": task_of,
    "kernel, before training": lambda run: untrained(run, images=1),
    "redundancy": lambda run: network_of(run, 0),
    "subnetworks, pretraining": lambda run: pretrain({"key": "0", "settings": "{}", "seed": 0}, _Shelf(run)),
    "subnetworks, tuning": lambda run: tune({"key": "0", "weights": "w"}, _Shelf(run)),
    "subnetworks, searching": lambda run: search_masks({"key": "0", "tuned": None, "search": "{}"}, _Shelf(run)),
}


class _Shelf(Bench):
    """A study's store that holds one run."""

    def __init__(self, run: Run) -> None:
        super().__init__("nowhere", {})
        object.__setattr__(self, "_run", run)

    def run(self, key: str) -> Run:
        return self._run  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("key", ["transform", "tokenizer", "inputs", "name", "sha256"])
def test_every_way_from_a_stored_run_goes_through_the_gate(ask: Callable[[Run], object], key: str) -> None:
    for place in PLACES:
        run = stored(task=FROM | {key: place})
        with pytest.raises(SettingError, match="which is not part of recombine") as refused:
            ask(run)
        assert f"recombine_lab.trust('{place}')" in refused.value.instead
        assert f"--trust {place}" in refused.value.instead


def _planted_in(value: Any, place: str) -> Iterator[Any]:
    """A place by itself, in a list, as a setting's name, and deep below another setting."""
    deep: Any = place
    for _ in range(200):
        deep = [{"x": deep}]
    yield from (place, [place], {place: 1}, {"name": place}, [[value], place], deep)


@examples(200)
@given(drawn=st.data())
def test_a_place_under_any_key_of_any_record_is_found(drawn: st.DataObject) -> None:
    parts = {part: drawn.draw(st.sampled_from(specs)) for part, specs in PARTS.items()}
    plain = Configuration(**parts, recipe={"steps": 1, "lr": 0.1}, seed=0, code="task 1, ").plain()
    where = drawn.draw(st.sampled_from([path for path in mutations.places(plain) if path != ("seed",)]))
    place = drawn.draw(st.sampled_from(PLACES))
    held = plain
    for step in where:
        held = held[step]
    for value in _planted_in(held, place):
        record = mutations.replaced(plain, where, value)
        assert place in places_in(record)
        with pytest.raises(SettingError, match="not part of recombine"):
            check_known(record, source="a record")


@pytest.mark.parametrize("part", ["task", "split", "model"])
def test_a_place_under_any_setting_of_anything_in_the_catalogues_is_refused(part: str) -> None:
    catalogue = {"task": TASKS, "split": SPLITS, "model": MODELS}[part]
    for name in catalogue.names():
        for setting in ("name", *settings_of(catalogue.load(name))):
            with pytest.raises(SettingError, match="not part of recombine"):
                stored(**{part: {"name": name} | {setting: UNKNOWN}}).module()


@examples(40)
@given(drawn=st.data())
def test_a_place_anywhere_else_in_a_runs_record_is_only_text(drawn: st.DataObject) -> None:
    """Outside of its configuration nothing of a record is ever looked up."""
    record = samples.run().record()
    where = drawn.draw(st.sampled_from([path for path in mutations.places(record.data) if path[0] != "configuration"]))
    changed = mutations.replaced(record.data, where, drawn.draw(st.sampled_from(PLACES)))
    try:
        run = Run.from_record(replace(record, data=changed))
        repr(run), run.verdict, job_of(run)
    except (RecombineError, ValueError):
        return


def test_a_sweeps_file_is_read_by_the_same_gate(tmp_path: Path) -> None:
    parts = {"tasks": FROM, "splits": "everything", "models": "mlp", "recipes": {"steps": 1}}
    for place in PLACES:
        for field, entry in (("tasks", FROM | {"inputs": place}), ("models", place), ("splits", {"each": [place]})):
            file = tmp_path / "sweep.yaml"
            file.write_text(yaml.safe_dump(parts | {field: entry, "store": "runs"}))
            with pytest.raises(SettingError, match=r"sweep.yaml' names .*, which is not part of recombine"):
                sweep(file, workers=0, progress=None)


def test_the_command_line_names_what_is_known(tmp_path: Path) -> None:
    net = "tests.lab.own.things:make_net"
    plan = {"tasks": "toy", "splits": "own", "models": net, "recipes": {"steps": 1, "samples": 4}, "store": "runs"}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(plan))
    asked = ["sweep", "sweep.yaml", "--workers", "0", "--dry-run", "--json"]
    refused = CliRunner().invoke(app, asked)
    assert isinstance(refused.exception, SettingError)
    assert f"--trust {net}" in refused.exception.instead
    assert CliRunner().invoke(app, [*asked, "--trust", "tests.lab.own.things"]).exit_code == 0


def test_a_probe_of_a_stored_run_asks_the_gate_first(tmp_path: Path) -> None:
    run = stored(model={"name": "tests.lab.own.things:make_net"})
    Store.open(tmp_path / "store").put(run, files={"model.safetensors": run.weights()})  # type: ignore[misc]
    for probe in ("geometry", "support", "influence", "subnetworks"):
        asked = ["probe", probe, "store", "--run", run.key]
        for more, said in (((), "not part of recombine"), (("--trust", "tests.lab.own.things"), "has changed since")):
            TRUSTED.discard("tests.lab.own.things")
            refused = CliRunner().invoke(app, [*asked, *more]).exception
            assert isinstance(refused, SettingError)
            assert said in refused.what


def test_what_the_user_named_before_is_known() -> None:
    for name in (lambda: trust(UNKNOWN), lambda: trust("planted_module"), lambda: trust(called, f"{HERE}:x")):
        TRUSTED.clear()
        name()
    check_known({"transform": f"{HERE}:called"}, source="a record")
    check_known({"name": f"{HERE}:Net"}, source="a record")  # a network's class, whose module is imported
    with pytest.raises(SettingError, match="not part of recombine"):
        check_known({"name": UNKNOWN}, source="a record")
    trust("planted_module")
    check_known({"name": UNKNOWN, "other": "planted_module:more"}, source="a record")
    with pytest.raises(SettingError, match="is no name"):
        trust("planted module")


def test_what_was_fitted_in_this_process_is_known(tmp_path: Path) -> None:
    recipe = {"steps": 1, "samples": 4, "test_samples": 4, "evaluations": 1}
    (run,) = fit("toy", "own", {"name": f"{HERE}:Net"}, recipe, store=tmp_path / "runs", progress=None)
    assert f"{HERE}:Net" in TRUSTED
    assert isinstance(Store.open(tmp_path / "runs").get(run.key).module(), Net)


def test_what_is_held_in_memory_is_no_place() -> None:
    assert places_in({"source": f"memory:{'a' * 64}", "transform": f"memory:{'b' * 32}", "time": "12:30"}) == []
    assert places_in(["memory:make", {"x": ("a.b:c",)}]) == ["a.b:c", "memory:make"]


@pytest.mark.parametrize("name", ["/etc/hostname", "../outside", "measured/../../outside", "", "a//b", "./a", "a\\b"])
def test_no_name_leads_out_of_a_store(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_bytes(b"mine")
    bench = Bench(str(tmp_path / "store"), {})
    files = bench.store.files
    for use in (files.read, files.exists, files.remove, lambda name: files.write(name, b"")):
        with pytest.raises(OSError, match="is not the name of a file in a store"):
            use(name)
    (found,) = files.read_all([name]).values()
    assert isinstance(found, OSError)
    with pytest.raises(RecordError, match="is not the name of a file in a store"):
        kept_weights(bench, name)
    assert (tmp_path / "outside").read_bytes() == b"mine"


@pytest.mark.parametrize("named", [None, 7, "weights/none.safetensors", "weights/damaged.safetensors"])
def test_weights_that_a_measurement_names_wrongly_are_refused_in_words(tmp_path: Path, named: object) -> None:
    bench = Bench(str(tmp_path / "store"), {})
    bench.store.files.write("weights/damaged.safetensors", os.urandom(64))
    with pytest.raises(RecordError):
        kept_weights(bench, named)
