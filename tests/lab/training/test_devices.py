"""Where a run is trained: on the processor here; on a GPU where there is one (CI has none)."""

import numpy as np
import pytest
import torch

from recombine.base.errors import SettingError
from recombine_lab.training.fit import fit
from recombine_lab.training.learners import device_of, mode_of
from recombine_lab.training.recipe import Recipe, recipe_of
from tests.lab.training.toys import SPLIT, Net, Sum, errors, same

RECIPE = {"steps": 40, "lr": 0.02, "samples": "every", "evaluations": 2}
CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU that torch can use")
DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]


def fitted(**changed):
    return fit(Sum(), SPLIT, Net(), RECIPE | changed, seeds=2, progress=None)


def test_auto_takes_what_is_there():
    here = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert device_of(Recipe(steps=1, device="auto")).type == here
    if here == "cpu":
        assert all(map(same, fitted(together="never"), fitted(together="never", device="auto")))


def test_a_device_that_is_not_there_is_refused_in_words():
    missing = [
        name
        for name, there in (("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available()))
        if not there
    ]
    for name in missing:
        with pytest.raises(SettingError, match=f"device='{name}'") as refused:
            fitted(device=name)
        assert "device='auto'" in refused.value.instead


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("together", ["always", "never"])
def test_a_device_gives_nearly_the_numbers_of_the_processor(device, together):
    there, here = (fitted(together=together, device=name) for name in (device, "cpu"))
    for one, other in zip(there, here, strict=True):
        np.testing.assert_allclose(errors(one), errors(other), atol=1e-3)
        assert next(one.module().parameters()).device.type == "cpu"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("together", ["always", "never"])
def test_mixed_precision_is_near_to_full_precision(device, together):
    half, full = (fitted(together=together, device=device, precision=name) for name in ("bf16", "float32"))
    for one, other in zip(half, full, strict=True):
        assert one.configuration.recipe["precision"] == "bfloat16"
        assert not same(one, other)
        np.testing.assert_allclose(errors(one), errors(other), atol=0.05)
        assert next(one.module().parameters()).dtype == torch.float32


def test_precision_may_be_written_as_others_write_it():
    assert (
        Recipe(steps=1, precision="bf16")
        == Recipe(steps=1, precision="bfloat16")
        == recipe_of({"steps": 1, "precision": "bf16"})
    )


@pytest.mark.parametrize("device", DEVICES)
def test_deterministic_algorithms_are_asked_for_and_given_back(device):
    with mode_of(Recipe(steps=1, deterministic=True)):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    one, other = (fitted(device=device, deterministic=True, together="never") for _ in range(2))
    assert all(map(same, one, other))
    assert not torch.are_deterministic_algorithms_enabled()


@CUDA
def test_a_run_on_a_gpu_goes_on_where_it_was_cut_off(tmp_path):
    def stop(event):
        if event.step == 20:
            raise KeyboardInterrupt

    given = (Sum(), SPLIT, Net(), RECIPE | {"device": "cuda", "together": "never", "deterministic": True})
    with pytest.raises(KeyboardInterrupt):
        fit(*given, store=tmp_path / "runs", callbacks=[stop], progress=None)
    (run,) = fit(*given, store=tmp_path / "runs", progress=None)
    (whole,) = fit(*given, progress=None)
    assert same(run, whole)


def test_settings_that_came_later_change_no_key():
    assert not {"device", "deterministic"} & set(Recipe(steps=1).plain())
    assert recipe_of(Recipe(steps=1, device="auto").plain()).device == "auto"
