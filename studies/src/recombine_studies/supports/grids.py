"""What is trained: two models on eight supports, and the two things that the published alpha model changed at once."""

from collections.abc import Mapping
from typing import Any

from recombine_studies.rows import Row, Rows
from recombine_studies.study import Evidence, Settings

SUPPORTS: dict[str, dict[str, Any]] = {
    "random": {"name": "random"},
    "orthogonal": {"name": "orthogonal"},
    "orthogonal+": {"name": "orthogonal", "variant": "plus"},
    "normal": {"name": "orthogonal", "variant": "normal"},
    "diagonal .2": {"name": "diagonal_band", "delta": 0.2},
    "diagonal .1": {"name": "diagonal_band", "delta": 0.1},
    "diagonal .05": {"name": "diagonal_band", "delta": 0.05},
    "gap": {"name": "orthogonal", "variant": "gap"},
}
SOFT, ALPHA = "soft_occlusion", "alpha"
SEEN, WHOLE = "seen.score", "all.score"
"""R² on the support, and on the whole space."""
SEEN_ERROR, WHOLE_ERROR = "seen.error", "all.error"
"""The squared error of a number of the picture, on the same."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "size": 8, "sharpness": 2.0, "seeds": 2, "alpha_seeds": 2, "monolithic": ["random", "orthogonal"],
        "steps": 6, "batch": 16, "samples": 200, "test_samples": 64, "lr": 0.003, "final_lr": 0.0, "warmup": 1,
        "points": 200, "probes": 1, "starts": 6,
    },
    "small": {
        "size": 16, "sharpness": 2.0, "seeds": 3, "alpha_seeds": 12,
        "monolithic": ["random", "orthogonal", "diagonal .2"],
        "steps": 1500, "batch": 32, "samples": 10_000, "test_samples": 1000, "lr": 0.003, "final_lr": 0.0, "warmup": 50,
        "points": 10_000, "probes": 1, "starts": 400,
    },
    "paper": {
        "size": 64, "sharpness": 4.0, "seeds": 5, "alpha_seeds": 5, "monolithic": list(SUPPORTS),
        "steps": 392_000, "batch": 512, "samples": 100_000, "test_samples": 10_000, "lr": 0.001, "final_lr": 1e-5,
        "warmup": 0, "points": 100_000, "probes": 5, "starts": 400,
    },
}  # fmt: skip


def grids(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """The published runs; a monolithic one on more supports; and alpha and soft occlusion, each shared and not."""
    soft, alpha = (task_of(settings, composition) for composition in (SOFT, ALPHA))
    orthogonal = SUPPORTS["orthogonal"]
    return {
        "compositional": _grid(settings, soft, list(SUPPORTS.values()), {"name": "compositional"}),
        "alpha": _grid(
            settings,
            alpha,
            orthogonal,
            {"name": "compositional", "composition": ALPHA, "shared": {"each": [True, False]}},
            seeds=settings["alpha_seeds"],
        ),
        "soft, shared": _grid(settings, soft, orthogonal, {"name": "compositional", "shared": True}),
        "monolithic": _grid(settings, soft, [SUPPORTS[name] for name in settings["monolithic"]], "monolithic"),
    }


def task_of(settings: Settings, composition: str) -> dict[str, Any]:
    """The sprites of a preset, put together in one way or the other."""
    sprites = {"size": settings["size"], "sharpness": settings["sharpness"], "composition": composition}
    return {"name": "sprites", **sprites}


def _grid(settings: Settings, task: Any, splits: Any, models: Any, *, seeds: int | None = None) -> dict[str, Any]:
    plan = {"tasks": task, "splits": splits, "models": models, "recipes": _recipe(settings)}
    return plan | {"seeds": settings["seeds"] if seeds is None else seeds}


def _recipe(settings: Settings) -> dict[str, Any]:
    own = ("steps", "batch", "samples", "test_samples", "lr", "final_lr", "warmup")
    usual = {"optimiser": "adamw", "weight_decay": 1e-5, "schedule": "cosine", "evaluations": 3, "together": "never"}
    return {**usual, **{name: settings[name] for name in own}}


def support_of(row: Row) -> str:
    """The name of a run's support.

    >>> support_of({"split": "diagonal_band", "split.delta": 0.2}), support_of({"split": "orthogonal"})
    ('diagonal .2', 'orthogonal')
    """
    if row["split"] == "diagonal_band":
        return f"diagonal {row['split.delta']:g}".replace("0.", ".")
    variant = row.get("split.variant") or "plain"
    return {"plain": str(row["split"]), "plus": "orthogonal+"}.get(variant, variant)


def named(evidence: Evidence) -> Rows:
    """Every run, with the name of its support and what it loses from the support to the whole space."""
    return evidence.runs.with_columns(lambda row: {"support": support_of(row), "loss": loss_of(row)})


def loss_of(row: Row) -> float | None:
    """R² on the support, less R² on the whole space; None where one of them is not known."""
    seen, whole = row.get(SEEN), row.get(WHOLE)
    return None if seen is None or whole is None else float(seen) - float(whole)
