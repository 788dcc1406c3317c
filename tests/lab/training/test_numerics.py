"""A run is found again as long as its numbers would be the same: numerics versions, held to golden numbers."""

import json
from dataclasses import replace
from importlib.metadata import version

import pytest
from packaging.version import Version

from recombine_lab.models.catalogue import MODELS
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.conjunction_tasks import Toy
from recombine_lab.training.configurations import configurations, numerics
from tests.lab.training import golden
from tests.lab.training.golden import Part

ADDITION = ("addition", "hold_out_combinations", "mlp", {"steps": 3})
GOLDEN = json.loads(golden.FILE.read_text(encoding="utf-8"))

# Earlier ones draw other weights for what is built from the blocks of transformers.
FROM_TRANSFORMERS, TORCH, TRANSFORMERS = ("resnet", "vit"), "2.13", "5.22"


def drawn_otherwise(part: Part) -> bool:
    """Whether the installed libraries start this network from other weights than those that golden numbers are of."""
    older = Version(version("torch")) < Version(TORCH) or Version(version("transformers")) < Version(TRANSFORMERS)
    return older and part.name.startswith(FROM_TRANSFORMERS)


def fault(part: Part) -> str | None:
    """Why a part does not give the golden numbers of its version; None where it does."""
    held = GOLDEN.get(part.kind, {}).get(part.name)
    if held is None or held["version"] != part.version:
        return f"no golden numbers of version {part.version}: python -m tests.lab.training.golden"
    # float32 in another order of adding: other builds of torch, other processors
    if part.numbers() != pytest.approx(held["numbers"], rel=1e-4, abs=1e-5):
        return "its numbers changed: raise its version (in its catalogue, or TRAINING_NUMERICS in training/recipe.py)"
    return None


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(
            part,
            marks=[
                *([pytest.mark.data, pytest.mark.slow] if part.needs_files else []),
                pytest.mark.skipif(
                    drawn_otherwise(part), reason=f"torch before {TORCH} or transformers {TRANSFORMERS}"
                ),
            ],
            id=f"{part.kind}, {part.name}",
        )
        for part in golden.parts()
    ],
)
def test_numbers_are_those_of_the_version(part: Part) -> None:
    assert fault(part) is None


def test_the_guard_notices_changed_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    (toy,) = (part for part in golden.parts() if part.name == "toy")
    drawn = Toy.render

    def other(self: Toy, latents: object, **given: object) -> object:
        batch = drawn(self, latents, **given)  # type: ignore[arg-type]
        return type(batch)(batch.inputs * 1.001, batch.targets)

    assert fault(toy) is None
    monkeypatch.setattr(Toy, "render", other)
    assert "its numbers changed" in str(fault(toy))


def test_a_raised_version_wants_new_golden_numbers() -> None:
    (toy,) = (part for part in golden.parts() if part.name == "toy")
    assert "no golden numbers of version 2" in str(fault(Part("task", "toy", 2, toy.numbers)))


def test_a_key_changes_with_the_version_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = configurations(*ADDITION, seeds=1)
    monkeypatch.setattr("recombine_lab.training.configurations.TASKS", replace(TASKS, numerics={"addition": 2}))
    (after,) = configurations(*ADDITION, seeds=1)
    assert (before.code, after.code) == (
        "task 1, split 1, model 1, training 1",
        "task 2, split 1, model 1, training 1",
    )
    assert before.key != after.key


def test_a_part_within_a_part_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recombine_lab.training.configurations.MODELS", replace(MODELS, numerics={"mlp": 7}))
    nested = {"name": "odd_one_out", "backbone": {"name": "mlp"}}
    assert numerics({"name": "addition"}, {"name": "own"}, nested).endswith("model 1+7, training 1")
