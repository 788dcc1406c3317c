"""Every cell, in the order of training. Names say task, support, noise and model; a name is never given twice."""

from functools import partial
from typing import Any

from recombine.verbs.split.geometric_holdout import Corner, Donut
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine_lab.models.mlp import MLP
from recombine_lab.models.model import Model
from recombine_lab.models.vision import CNN
from recombine_lab.tasks import (
    Addition,
    Bumps,
    ContextDependence,
    DigitPairs,
    Invariance,
    Orthogonal,
    PartialExposure,
    Sprites,
    Task,
    Toy,
    TransitiveEquivalence,
    TransitiveOrdering,
)
from recombine_lab.training.recipe import Recipe
from validity_cells import tables
from validity_cells.cell import Cell
from validity_cells.points import points
from validity_cells.tasks import from_task, symbols
from validity_cells.worlds import world

COMMON: dict[str, Any] = {"samples": "every", "evaluations": 1, "test_samples": 10**6}
WHOLE = Recipe(steps=1500, lr=1e-3, batch=None, **COMMON)
"""All rows at every step, for symbols."""
LONG = Recipe(steps=16000, lr=1e-3, batch=None, **COMMON)
"""From small weights it takes longer."""
BATCHES = Recipe(steps=1000, lr=2e-3, batch=64, **COMMON)
SHORT = Recipe(steps=80, lr=1e-3, batch=64, **COMMON)
"""Stopped before the rows are fitted."""
CONVOLUTIONS = Recipe(steps=350, lr=2e-3, batch=64, **COMMON)

ON_SYMBOLS: dict[str, tuple[Model, Recipe]] = {
    "lazy 1": (MLP(hidden=(1000,)), WHOLE),
    "lazy 3": (MLP(hidden=(200, 200, 200)), WHOLE),
    "rich 1": (MLP(hidden=(300,), scale=1e-3), LONG),
}
ON_ROWS: dict[str, tuple[Model, Recipe]] = {
    "mlp 1": (MLP(hidden=(256,)), BATCHES),
    "mlp 2": (MLP(hidden=(128, 128)), BATCHES),
    "mlp 3": (MLP(hidden=(128, 128, 128)), BATCHES),
    "rich 1": (MLP(hidden=(256,), scale=0.01), BATCHES),
    "rich 2": (MLP(hidden=(128, 128), scale=0.1), BATCHES),
    "linear": (MLP(hidden=()), BATCHES),
    "stopped": (MLP(hidden=(128, 128)), SHORT),
    "toy": (MLP(hidden=(64, 64)), BATCHES),
    "cnn": (CNN(channels=(8, 16), pool=(1, 2), dense=(64,)), CONVOLUTIONS),
}


def _hold(task: Task, share: float) -> HoldOutCombinations:
    return HoldOutCombinations(factors=list(task.space.names), test_size=share, n_splits=1)


def _cell(name: str, group: str, learner: str, make: Any, *, known: bool = False) -> Cell:
    model, recipe = (ON_SYMBOLS if group == "symbols" else ON_ROWS)[learner]
    seeds = 3 if group in ("points", "table") else 2
    return Cell(
        name=f"{name}, {learner}",
        group=group,
        make=make,
        model=model,
        recipe=recipe,
        learner=learner,
        seeds=seeds,
        known=known,
    )


_PUBLISHED = {
    ("addition, anchor 0", "lazy 1"),
    ("addition, anchor -4", "rich 1"),
    ("context 3", "lazy 1"),
    ("context 3", "lazy 3"),
    ("equivalence 5 5", "rich 1"),
}


def _on_symbols() -> list[Cell]:
    tasks: dict[str, Task] = {
        "addition, anchor 0": Addition(),
        "addition, anchor -4": Addition(anchors=(-4,)),
        "addition, anchors -4 4": Addition(anchors=(-4, 4)),
        "context 1": ContextDependence(k=1),
        "context 2": ContextDependence(k=2),
        "context 3": ContextDependence(k=3),
        "ordering 7": TransitiveOrdering(),
        "equivalence 5 5": TransitiveEquivalence(classes=(5, 5), trained=1),
        "invariance": Invariance(),
        "exposure": PartialExposure(),
    }
    return [
        _cell(name, "symbols", learner, partial(from_task, task), known=(name, learner) in _PUBLISHED)
        for name, task in tasks.items()
        for learner in ON_SYMBOLS
    ]


def _more_symbols() -> list[Cell]:
    asked = [
        ((8, 8), "effects", "random 40", "lazy 1"),
        ((8, 8), "table", "random 60", "lazy 1"),
        ((8, 8), "product", "random 50", "lazy 3"),
        ((6, 6), "lookup", "random 70", "lazy 1"),
        ((6, 6), "same", "random 60", "lazy 3"),
        ((4, 4, 4), "effects", "random 30", "lazy 3"),
        ((4, 4, 4), "majority", "random 40", "lazy 1"),
        ((4, 4, 4), "context", "random 50", "lazy 3"),
        ((4, 4, 4), "parity", "random 70", "rich 1"),
        ((10, 10), "first", "band", "lazy 1"),
        ((5, 5), "mixed", "corner", "lazy 1"),
        ((8, 8), "order", "random 30", "rich 1"),
    ]
    return [
        _cell(_named(sizes, rule, support), "symbols", learner, partial(symbols, sizes, rule, support))
        for sizes, rule, support, learner in asked
    ]


def _named(sizes: tuple[int, ...], rule: str, support: str) -> str:
    return f"{rule} {'x'.join(map(str, sizes))}, {support}"


def _published_pictures() -> list[Cell]:
    pairs = DigitPairs()
    drawn = {"code": "images", "images": "mnist"}
    rows = {"rows": 2000}
    asked: list[tuple[str, str, Any]] = [
        ("digits first, band", "mlp 2", partial(from_task, pairs, **rows)),
        ("digits first, band", "cnn", partial(from_task, pairs, **rows)),
        ("digits first, second hidden", "mlp 2", partial(from_task, DigitPairs(setting="B-noise"), **rows)),
        ("digits first, half", "mlp 2", partial(from_task, pairs, _hold(pairs, 0.5), **rows)),
        ("digits same, band", "mlp 2", partial(from_task, DigitPairs(rule="same"), **rows)),
        (
            "digits sum mod 10, 70",
            "mlp 2",
            partial(from_task, DigitPairs(rule="sum_mod_10"), _hold(pairs, 0.3), **rows),
        ),
        ("digits sum, band", "mlp 2", partial(from_task, DigitPairs(rule="sum"), **rows)),
        ("digits sum, half", "mlp 2", partial(from_task, DigitPairs(rule="sum"), _hold(pairs, 0.5), **rows)),
        ("pictured addition, anchor 0", "cnn", partial(from_task, Addition(**drawn), **rows)),
        ("pictured addition, anchors -4 4", "cnn", partial(from_task, Addition(anchors=(-4, 4), **drawn), **rows)),
        ("pictured context 3", "cnn", partial(from_task, ContextDependence(**drawn), **rows)),
        ("pictured ordering", "cnn", partial(from_task, TransitiveOrdering(**drawn), **rows)),
    ]
    cells = [_cell(name, "pictures", learner, make, known=True) for name, learner, make in asked]
    return [*cells, _cell("toy", "points", "toy", partial(from_task, Toy(), rows=1000), known=True)]


def _more_pictures() -> list[Cell]:
    fashion, glyphs = ({"images": name} for name in ("fashion_mnist", "synthetic"))
    cifar = {"images": "cifar10", "per_class": 1000}
    pairs = DigitPairs()
    few = DigitPairs(per_class=20)
    rows = {"rows": 2000}
    asked: list[tuple[str, str, Any]] = [
        ("fashion first, band", "mlp 2", partial(from_task, DigitPairs(**fashion), **rows)),
        ("fashion first, half", "mlp 1", partial(from_task, DigitPairs(**fashion), _hold(pairs, 0.5), **rows)),
        ("fashion first, half", "stopped", partial(from_task, DigitPairs(**fashion), _hold(pairs, 0.5), **rows)),
        ("fashion first, wide band", "cnn", partial(from_task, DigitPairs(offsets=(0, 1, 2, 3), **fashion), **rows)),
        (
            "fashion same, 70",
            "mlp 3",
            partial(from_task, DigitPairs(rule="same", **fashion), _hold(pairs, 0.3), **rows),
        ),
        (
            "fashion sum, half",
            "mlp 1",
            partial(from_task, DigitPairs(rule="sum", **fashion), _hold(pairs, 0.5), **rows),
        ),
        ("fashion addition, anchor 0", "mlp 2", partial(from_task, Addition(code="images", **fashion), **rows)),
        ("fashion context 2", "mlp 2", partial(from_task, ContextDependence(k=2, code="images", **fashion), **rows)),
        ("fashion ordering", "mlp 2", partial(from_task, TransitiveOrdering(code="images", **fashion), **rows)),
        ("fashion partial exposure", "mlp 2", partial(from_task, PartialExposure(code="images", **fashion), **rows)),
        ("digits first, wide band", "mlp 1", partial(from_task, DigitPairs(offsets=(0, 1, 2, 3, 4)), **rows)),
        ("digits first, wide band", "linear", partial(from_task, DigitPairs(offsets=(0, 1, 2, 3, 4)), **rows)),
        ("digits first, 20 pictures a class, half", "mlp 2", partial(from_task, few, _hold(pairs, 0.5), **rows)),
        ("digits same, half", "cnn", partial(from_task, DigitPairs(rule="same"), _hold(pairs, 0.5), **rows)),
        (
            "digits second, corner",
            "mlp 3",
            partial(from_task, DigitPairs(rule="second"), Corner(["first", "second"], at=5), **rows),
        ),
        (
            "digits sum, corner",
            "mlp 2",
            partial(from_task, DigitPairs(rule="sum"), Corner(["first", "second"], at=5), **rows),
        ),
        ("digits sum, half", "stopped", partial(from_task, DigitPairs(rule="sum"), _hold(pairs, 0.5), **rows)),
        (
            "digits sum, block",
            "cnn",
            partial(from_task, DigitPairs(rule="sum"), Donut(["first", "second"], hole=(3, 6)), **rows),
        ),
        ("glyphs first, band", "mlp 2", partial(from_task, DigitPairs(**glyphs), **rows)),
        ("glyphs first, band, noise .5", "mlp 2", partial(from_task, DigitPairs(**glyphs), noise=0.5, **rows)),
        ("glyphs first, band, noise 1", "mlp 2", partial(from_task, DigitPairs(**glyphs), noise=1.0, **rows)),
        (
            "glyphs sum mod 10, half",
            "mlp 2",
            partial(from_task, DigitPairs(rule="sum_mod_10", **glyphs), _hold(pairs, 0.5), **rows),
        ),
        (
            "glyphs sum, half, noise .5",
            "mlp 3",
            partial(from_task, DigitPairs(rule="sum", **glyphs), _hold(pairs, 0.5), noise=0.5, **rows),
        ),
        ("cifar first, half", "mlp 2", partial(from_task, DigitPairs(**cifar), _hold(pairs, 0.5), **rows)),
        ("cifar first, band", "cnn", partial(from_task, DigitPairs(**cifar), **rows)),
        ("cifar exposure", "cnn", partial(from_task, PartialExposure(code="images", **cifar), **rows)),
        (
            "cifar ordering 10",
            "mlp 2",
            partial(from_task, TransitiveOrdering(items=10, code="images", **cifar), **rows),
        ),
    ]
    return [_cell(name, "pictures", learner, make) for name, learner, make in asked]


def _points() -> list[Cell]:
    asked: list[tuple[tuple[int, ...], str, str, float, str]] = [
        ((6, 6), "effects", "random 50", 0.3, "mlp 1"),
        ((6, 6), "effects", "random 50", 1.0, "mlp 2"),
        ((6, 6), "effects", "random 50", 2.0, "mlp 3"),
        ((6, 6), "effects", "cross", 1.0, "mlp 1"),
        ((6, 6), "sum", "corner", 0.5, "mlp 2"),
        ((6, 6), "sum", "band", 1.0, "mlp 3"),
        ((6, 6), "product", "random 60", 0.3, "mlp 2"),
        ((6, 6), "product", "random 60", 1.0, "mlp 2"),
        ((6, 6), "product", "corner", 0.5, "mlp 3"),
        ((6, 6), "table", "random 70", 0.5, "mlp 2"),
        ((6, 6), "mixed", "random 70", 0.5, "mlp 1"),
        ((6, 6), "mixed", "random 70", 1.0, "stopped"),
        ((6, 6), "first", "band", 0.3, "mlp 2"),
        ((6, 6), "first", "band", 1.0, "mlp 2"),
        ((6, 6), "first", "band", 2.0, "mlp 2"),
        ((6, 6), "first", "random 40", 1.0, "linear"),
        ((6, 6), "first", "random 40", 1.5, "stopped"),
        ((6, 6), "parity", "random 70", 0.5, "mlp 3"),
        ((6, 6), "lookup", "random 70", 0.5, "mlp 1"),
        ((6, 6), "same", "random 60", 0.5, "mlp 2"),
        ((8, 8), "order", "random 30", 0.5, "mlp 2"),
        ((8, 8), "order", "corner", 1.0, "mlp 1"),
        ((2, 2, 2, 2), "majority", "random 60", 1.0, "mlp 2"),
        ((2, 2, 2, 2), "parity", "random 70", 0.5, "rich 1"),
        ((4, 4, 4), "effects", "random 40", 1.0, "rich 2"),
        ((4, 4, 4), "context", "random 50", 0.5, "mlp 2"),
        ((4, 4, 4), "context", "random 80", 1.0, "mlp 3"),
        ((4, 4, 4), "product", "random 50", 0.5, "mlp 2"),
        ((4, 4, 4), "first", "corner", 0.5, "rich 1"),
    ]
    cells = [
        _cell(
            f"{_named(sizes, rule, support)}, noise {noise:g}",
            "points",
            learner,
            partial(points, sizes, rule, support, noise=noise),
        )
        for sizes, rule, support, noise, learner in asked
    ]
    summed = [
        ((6, 6), "effects", "random 50", 0.5, "mlp 2"),
        ((6, 6), "first", "random 60", 0.5, "mlp 2"),
        ((6, 6), "first", "band", 0.5, "rich 1"),
        ((4, 4, 4), "majority", "random 50", 0.3, "mlp 1"),
    ]
    return cells + [
        _cell(
            f"{_named(sizes, rule, support)}, summed, noise {noise:g}",
            "points",
            learner,
            partial(points, sizes, rule, support, noise=noise, summed=True),
        )
        for sizes, rule, support, noise, learner in summed
    ]


def _tables() -> list[Cell]:
    faces = partial(tables.celeba)
    asked: list[tuple[str, str, Any]] = [
        ("celeba lipstick by 3", "mlp 2", partial(faces, ("Male", "Young", "Smiling"), "Wearing_Lipstick", 2)),
        ("celeba lipstick by 3", "linear", partial(faces, ("Male", "Young", "Smiling"), "Wearing_Lipstick", 2)),
        (
            "celeba attractive by 4",
            "mlp 1",
            partial(faces, ("Male", "Young", "Blond_Hair", "Big_Nose"), "Attractive", 5),
        ),
        (
            "celeba cheekbones by 4",
            "mlp 3",
            partial(faces, ("Male", "Oval_Face", "Heavy_Makeup", "Bangs"), "High_Cheekbones", 5),
        ),
        ("celeba male by 3", "mlp 2", partial(faces, ("Blond_Hair", "Wearing_Hat", "Smiling"), "Male", 3)),
        (
            "celeba young by 5",
            "mlp 2",
            partial(faces, ("Male", "Attractive", "Chubby", "Eyeglasses", "Gray_Hair"), "Young", 9),
        ),
        (
            "celeba smiling by 3",
            "rich 2",
            partial(faces, ("Male", "Mouth_Slightly_Open", "High_Cheekbones"), "Smiling", 2),
        ),
        ("waterbirds, species by scene", "mlp 2", partial(tables.waterbirds, by="species", noise=0.5, unseen=50)),
        (
            "waterbirds, species by scene, noise 1.5",
            "mlp 1",
            partial(tables.waterbirds, by="species", noise=1.5, unseen=50),
        ),
        ("waterbirds, rare groups", "mlp 2", partial(tables.waterbirds, by="bird", noise=0.5)),
        ("mit-states object", "mlp 2", partial(tables.pairs, "mit_states", "obj", noise=1.0)),
        ("mit-states object, summed", "mlp 2", partial(tables.pairs, "mit_states", "obj", noise=1.0, summed=True)),
        ("mit-states attribute", "mlp 1", partial(tables.pairs, "mit_states", "attr", noise=0.5)),
        ("c-gqa object", "mlp 3", partial(tables.pairs, "cgqa", "obj", noise=1.5)),
        ("c-gqa attribute, summed", "mlp 2", partial(tables.pairs, "cgqa", "attr", noise=0.5, summed=True)),
        ("zappos object", "mlp 2", partial(tables.pairs, "ut_zappos", "obj", noise=1.0)),
        ("zappos attribute", "stopped", partial(tables.pairs, "ut_zappos", "attr", noise=0.5)),
        ("scan length", "mlp 2", partial(tables.scan, "length", noise=0.2)),
        ("scan first action", "mlp 2", partial(tables.scan, "first", noise=0.2)),
        (
            "scan length, around right",
            "mlp 2",
            partial(tables.scan, "length", noise=0.2, split="split_template_around_right"),
        ),
    ]
    return [_cell(name, "table", learner, make) for name, learner, make in asked]


def _drawings() -> list[Cell]:
    places = Bumps(size=14, code="onehot", inverted=False)
    wide, ramp = Bumps(size=14, inverted=False), Bumps(size=14, code="ramp", sigma=2.0, inverted=False)
    one, two = Sprites(slots=1, size=12), Sprites(slots=2, size=12)
    xy = ["x", "y"]
    asked: list[tuple[str, str, Any]] = [
        (
            "bumps one-hot, half",
            "mlp 2",
            partial(from_task, places, HoldOutCombinations(factors=xy, test_size=0.5, n_splits=1)),
        ),
        ("bumps, half", "mlp 2", partial(from_task, wide, HoldOutCombinations(factors=xy, test_size=0.5, n_splits=1))),
        ("bumps, block", "mlp 3", partial(from_task, wide, Donut(xy, hole=(4, 9)))),
        ("bumps ramp, block", "mlp 2", partial(from_task, ramp, Donut(xy, hole=(4, 9)))),
        ("sprite, half", "mlp 2", partial(from_task, one, _hold(one, 0.5), rows=1500)),
        ("sprite, corner of x and hue", "mlp 2", partial(from_task, one, Corner(["x0", "hue0"], at=0.5), rows=1500)),
        ("two sprites, planes", "mlp 2", partial(from_task, two, Orthogonal(), rows=1500)),
    ]
    return [_cell(name, "drawings", learner, make) for name, learner, make in asked]


_WORLDS: dict[str, tuple[int, ...]] = {
    "waves": (6, 6),
    "words": (6, 8),
    "spectra": (6, 6),
    "turned": (5, 4, 2),
    "gains": (7, 7),
    "doses": (6, 6),
    "tangled": (5, 4, 3),
    "walks": (8, 6),
    "stripes": (8, 8),
    "kinds": (9, 6),
}
_SITUATIONS = (
    ("random 70", 0.3, False, "mlp 2"),
    ("random 50", 0.7, False, "mlp 1"),
    ("random 60", 0.7, True, "mlp 3"),
    ("random 40", 0.3, True, "rich 2"),
    ("corner", 0.3, False, "mlp 1"),
    ("block", 0.7, False, "mlp 2"),
    ("random 70", 1.5, False, "stopped"),
)


def _worlds() -> list[Cell]:
    """Ten families in the same seven situations."""
    return [
        _cell(
            f"{family} {'x'.join(map(str, sizes))}, {support}, noise {noise:g}{', uneven' if uneven else ''}",
            "worlds",
            learner,
            partial(world, family, sizes, support, noise=noise, uneven=uneven),
        )
        for family, sizes in _WORLDS.items()
        for support, noise, uneven, learner in _SITUATIONS
    ]


def cells() -> list[Cell]:
    """All of them; those of the first note on forecasts first."""
    return [
        *_on_symbols(),
        *_published_pictures(),
        *_points(),
        *_tables(),
        *_more_symbols(),
        *_drawings(),
        *_more_pictures(),
        *_worlds(),
    ]


def smoke_cells() -> list[Cell]:
    """Three tiny ones that need no data set."""
    brief = Recipe(steps=100, lr=1e-2, batch=64, **COMMON)
    few = {"rows": 200, "asked": 60}
    asked = [
        ("addition", "symbols", partial(from_task, Addition())),
        ("effects", "points", partial(points, (4, 4), "effects", "random 60", noise=0.5, **few)),
        ("first", "points", partial(points, (4, 4), "first", "random 60", noise=0.5, **few)),
    ]
    return [
        Cell(name=name, group=group, make=make, model=MLP(hidden=(32,)), recipe=brief, learner="mlp 1")
        for name, group, make in asked
    ]
