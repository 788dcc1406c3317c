"""Draw a contact sheet of every visual task, as PNG, into a folder.

    python examples/contact_sheets.py [--out examples/sheets] [--only relations …]

Digits are those of MNIST where RECOMBINE_DATA names a folder that has them, else glyphs that are drawn on the spot.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from recombine.verbs.split.geometric_holdout import Corner, Donut
from recombine_lab.tasks.bumps import Bumps, Stripes
from recombine_lab.tasks.compositions import COMPOSITIONS
from recombine_lab.tasks.conjunction_tasks import (
    Addition,
    ConjunctionTask,
    ContextDependence,
    Invariance,
    PartialExposure,
    Toy,
    TransitiveEquivalence,
    TransitiveOrdering,
)
from recombine_lab.tasks.continuous_supports import DiagonalBand, Orthogonal, Random
from recombine_lab.tasks.digit_images import DigitPairs
from recombine_lab.tasks.exposure import Exposure, Source, as_exposure
from recombine_lab.tasks.sprites import Sprites
from recombine_studies.tasks.odd_one_out import BROKEN, ProblemSet
from recombine_studies.tasks.relations import Relations, Rule

SHEETS = Path(__file__).parent / "sheets"
GAP, MARGIN, LABEL = 8, 24, 230
INK, PALE, RED, BLUE, ORANGE = "#222222", "#dddddd", "#d62728", "#1f77b4", "#ff7f0e"
Digits = Literal["mnist", "synthetic"]
RULES: dict[Rule, str] = {
    "inside_contact": "a small outline lies inside a large one (first) and touches it (second)",
    "inside_number": "every small outline lies inside a large one (first), and there are equally many pairs (second)",
    "contact_number": "all outlines touch as one clump (first), and the four images show equally many (second)",
}


# A sheet: rows of pictures, each with a word under it


@dataclass(frozen=True)
class Cell:
    """A picture, what stands under it, and whether it has a red frame."""

    picture: Image.Image
    caption: str = ""
    framed: bool = False


@dataclass(frozen=True)
class Sheet:
    """A title, what the reader should know, and rows of pictures with a name each."""

    title: str
    notes: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]] = field(default_factory=list)

    def draw(self) -> Image.Image:
        """The sheet as one picture."""
        heights = [max(cell.picture.height for cell in cells) + 2 * GAP + 14 for _, cells in self.rows]
        widths = [sum(cell.picture.width + GAP for cell in cells) for _, cells in self.rows]
        head = MARGIN + 30 + 18 * len(self.notes) + GAP
        told = max(int(_font(13).getlength(note)) for note in [*self.notes, self.title * 2])
        page = Image.new("RGB", (2 * MARGIN + max(LABEL + max(widths), told), head + sum(heights) + MARGIN), "white")
        pen = ImageDraw.Draw(page)
        pen.text((MARGIN, MARGIN), self.title, fill=INK, font=_font(20))
        for line, note in enumerate(self.notes):
            pen.text((MARGIN, MARGIN + 30 + 18 * line), note, fill=INK, font=_font(13))
        top = head
        for (name, cells), height in zip(self.rows, heights, strict=True):
            pen.multiline_text((MARGIN, top + GAP), name, fill=INK, font=_font(14))
            _draw_row(page, pen, cells, top)
            top += height
        return page


def _draw_row(page: Image.Image, pen: ImageDraw.ImageDraw, cells: Sequence[Cell], top: int) -> None:
    left = MARGIN + LABEL
    for cell in cells:
        box = (left - 1, top - 1, left + cell.picture.width, top + cell.picture.height)
        page.paste(cell.picture, (left, top))
        pen.rectangle(box, outline=RED if cell.framed else PALE)
        if cell.framed:
            pen.rectangle((box[0] - 2, box[1] - 2, box[2] + 2, box[3] + 2), outline=RED, width=3)
        pen.text((left, top + cell.picture.height + 3), cell.caption, fill=INK, font=_font(11))
        left += cell.picture.width + GAP


def _font(size: int) -> Any:
    return ImageFont.load_default(size)


# Pictures of tensors, of cells and of points


def shown(image: Tensor, scale: int) -> Image.Image:
    """An image (C, H, W) of 1, 2, 3 or 6 channels, each pixel as a square.

    Two channels are shown in red and in cyan, so that white is where both are lit; six as two images beside each other.
    """
    if len(image) == 6:
        image = torch.cat([image[:3], image[3:]], dim=2)
    colours = {1: [0, 0, 0], 2: [0, 1, 1], 3: [0, 1, 2]}[len(image)]
    pixels = (image[colours].clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
    drawn = Image.fromarray(pixels)
    return drawn.resize((drawn.width * scale, drawn.height * scale), Image.Resampling.NEAREST)


def points(
    groups: Sequence[tuple[Tensor, str]], axes: tuple[str, str], *, low: float = 0.0, size: int = 170
) -> Image.Image:
    """Points (n, 2) between `low` and 1 in a square, each group in a colour; the second axis runs upwards."""
    fine = 2
    drawn = Image.new("RGB", (fine * (size + 60), fine * (size + 30)), "white")
    pen = ImageDraw.Draw(drawn)
    left, bottom, side = fine * 50, fine * (size + 6), fine * size
    pen.rectangle((left, bottom - side, left + side, bottom), outline=INK, width=fine)
    for group, colour in groups:
        for x, y in ((group - low) / (1 - low)).tolist():
            across, up = left + x * side, bottom - y * side
            pen.ellipse((across - 2, up - 2, across + 2, up + 2), fill=colour)
    pen.text((left + side / 2, bottom + fine), axes[0], fill=INK, font=_font(fine * 12))
    pen.text((fine * 2, bottom - side / 2), axes[1], fill=INK, font=_font(fine * 12))
    return drawn.resize((size + 60, size + 30), Image.Resampling.LANCZOS)


def places(task: Bumps, seen: Source, unseen: Source, scale: int) -> Image.Image:
    """Which places of a bump are seen (blue) and which are held out (orange); x to the right, y downwards."""
    drawn = Image.new("RGB", (task.size, task.size), "white")
    for source, colour in ((seen, BLUE), (unseen, ORANGE)):
        for x, y in _every(source).tolist():
            drawn.putpixel((x, y), tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5)))
    return drawn.resize((task.size * scale, task.size * scale), Image.Resampling.NEAREST)


def _every(source: Source) -> Tensor:
    latents = source.every()
    if latents is None:
        raise TypeError(f"{source} cannot be listed")
    return latents


# The sheets


def relations() -> Iterator[tuple[str, Sheet]]:
    """Every rule × every set, two problems each."""
    for rule, said in RULES.items():
        rows = []
        for name in get_args(ProblemSet):
            task = Relations(rule=rule, set=name, mean=0.0, deviation=1.0)
            every = task.every()
            chosen = [every[0], every[-1]]
            batch = task.tensors(chosen, seed=7)
            cells = []
            for code, problem, odd in zip(chosen, batch.inputs, batch.targets.tolist(), strict=True):
                number = f", number {2 + code[2]}" if len(code) > 2 else ""
                for place, image in enumerate(problem):
                    caption = f"odd: breaks {BROKEN[code[0]]}{number}" if place == odd else ""
                    cells.append(Cell(shown(image, 1), caption, framed=place == odd))
            rows.append((name, cells))
        notes = [
            f"Rule: {said}. Each row shows two problems of four images; the odd one is framed in red.",
            "In the sets mask_first and mask_second the other component is left to chance in all four images.",
            "All rows are drawn with one seed.",
        ]
        yield f"relations_{rule}", Sheet(f"Relational scenes: {rule}", notes, rows)
    rows = []
    for rule in RULES:
        task = Relations(rule=rule, size=32, mean=0.0, deviation=1.0)
        batch = task.tensors(task.every()[::5][:3], seed=3)
        cells = [
            Cell(shown(image, 3), framed=place == odd)
            for problem, odd in zip(batch.inputs, batch.targets.tolist(), strict=True)
            for place, image in enumerate(problem)
        ]
        rows.append((rule, cells))
    notes = [
        "The same rules in 32 x 32 pixels, each drawn as 3 x 3: three problems a row, the odd image framed in red."
    ]
    yield "relations_small", Sheet("Relational scenes in small frames", notes, rows)


def sprites() -> Iterator[tuple[str, Sheet]]:
    """Every composition, every support as images and as points."""
    rows = []
    for name in COMPOSITIONS:
        task = Sprites(composition=name)
        latents = Random().parts(task, seed=0).train.draw(8, seed=1)
        images = task.render(latents, seed=0, part="train").targets
        rows.append((name, [Cell(shown(image, 2 if len(image) < 6 else 1)) for image in images]))
    task = Sprites(slots=4, composition="hard_occlusion")
    latents = Random().parts(task, seed=0).train.draw(8, seed=3)
    images = task.render(latents, seed=0, part="train").targets
    rows.append(("hard_occlusion,\nfour sprites", [Cell(shown(image, 2)) for image in images]))
    notes = [
        "Two sprites (position, shape, scale, hue) put together by each composition function.",
        "A column has the same two sprites in every row; sprite 0 is in front. The last row has four sprites.",
        "concatenation keeps the sprites' images in channels of their own: they are shown beside each other.",
        "product is lit only where both sprites are.",
    ]
    yield "sprites_compositions", Sheet("Sprites: composition functions", notes, rows)
    yield "sprites_supports", _sprite_supports()
    yield "supports", _supports()


def _exposures() -> dict[str, Exposure]:
    variants: tuple[Any, ...] = ("plain", "plus", "star", "normal", "gap")
    return {
        "random": Random(),
        **{f"orthogonal, {variant}": Orthogonal(variant=variant) for variant in variants},
        **{f"diagonal band,\ndelta = {delta}": DiagonalBand(delta=delta) for delta in (0.05, 0.1, 0.2)},
    }


def _sprite_supports() -> Sheet:
    task = Sprites(composition="hard_occlusion")
    rows = []
    for name, exposure in _exposures().items():
        images = task.render(exposure.parts(task, seed=0).train.draw(8, seed=2), seed=0, part="train").targets
        rows.append((name, [Cell(shown(image, 2)) for image in images]))
    notes = [
        "Eight training images drawn from each support. On orthogonal planes one sprite varies",
        "and the other stands still, small, in a corner or in the middle. In a diagonal band the two are nearly alike.",
    ]
    return Sheet("Sprites: what each support shows", notes, rows)


def _supports() -> Sheet:
    task = Sprites()
    names = task.space.names
    pairs = [("x0", "x1"), ("hue0", "hue1"), ("scale0", "scale1"), ("x0", "y0")]
    rows = []
    for name, exposure in _exposures().items():
        tests = exposure.parts(task, seed=0)
        groups = [(tests.train.draw(600, seed=1), BLUE)]
        if "unseen" in tests.tests:
            groups.insert(0, (tests.tests["unseen"].draw(200, seed=1), ORANGE))
        cells = []
        for across, up in pairs:
            columns = [names.index(across), names.index(up)]
            cells.append(Cell(points([(latents[:, columns], colour) for latents, colour in groups], (across, up))))
        rows.append((name, cells))
    notes = [
        "600 points of each support (blue), and 200 of its set `unseen`, if any (orange), in four pairs of latents.",
        "Orange is drawn first: where both are possible in these two latents, blue lies on top.",
    ]
    return Sheet("Supports of continuous latents", notes, rows)


def bumps() -> Iterator[tuple[str, Sheet]]:
    """Donut and corner as maps and images; stripes."""
    task = Bumps(size=28)
    splitters = {
        "donut\nhole 6 to 22": Donut(["x", "y"], hole=(6, 22)),
        "corner\nfrom 14 on": Corner(["x", "y"], at=14),
    }
    rows = []
    for name, splitter in splitters.items():
        parts = as_exposure(splitter).parts(task, seed=0)
        seen, unseen = parts.tests["seen"], parts.tests["unseen"]
        counts = f"{len(_every(seen))} seen, {len(_every(unseen))} unseen"
        cells = [Cell(places(task, seen, unseen, 4), counts)]
        for side, source in (("seen", seen), ("unseen", unseen)):
            latents = source.draw(4, seed=3)
            cells += _bumps(task, latents, side)
        rows.append((name, cells))
    mixed = Stripes(base=Donut(["x", "y"], hole=(6, 22)), share=0.5).parts(task, seed=0)
    rows.append(("donut with stripes,\nhalf and half", _bumps(task, mixed.train.draw(9, seed=4), "")))
    codes: tuple[Any, ...] = ("onehot", "bump", "ramp")
    for code in codes:
        coded = Bumps(size=28, code=code)
        batch = coded.tensors([[7, 20], [21, 3]], seed=0)
        cells = []
        for row, image in zip(batch.inputs, batch.targets, strict=True):
            numbers = row[None, None] / (28 if code == "ramp" else 1)
            wide = numbers.repeat_interleave(56 // numbers.shape[2], dim=2).expand(1, 10, -1)
            cells += [Cell(shown(wide, 4), "the code: x, then y"), Cell(shown(image, 4), "the image")]
        rows.append((f"code: {code}", cells))
    notes = [
        "A dark Gaussian bump at column x and row y of a 28 x 28 image, row 0 on top.",
        "Maps: blue is seen in training, orange is held out.",
        "A stripe leaves one coordinate out: its code is empty, and the bump is drawn along the whole axis.",
    ]
    yield "bumps", Sheet("Bumps: donut, corner, stripes", notes, rows)


def _bumps(task: Bumps, latents: Tensor, side: str) -> list[Cell]:
    images = task.render(latents, seed=0, part="train").targets
    told = [", ".join(f"{name}={v}" for name, v in zip("xy", row, strict=True) if v >= 0) for row in latents.tolist()]
    return [Cell(shown(image, 4), f"{place} {side}".strip()) for image, place in zip(images, told, strict=True)]


def digits(images: Digits) -> Iterator[tuple[str, Sheet]]:
    """A, B and B-noise; beside each other and in channels."""
    rows = []
    settings: tuple[Any, ...] = ("A", "B", "B-noise")
    for setting in settings:
        for layout, distance in (("side", 0), ("channels", 10)):
            task = DigitPairs(images=images, layout=layout, distance=distance, setting=setting)  # type: ignore[arg-type]
            parts = task.own_parts(seed=0)
            cells = []
            asked = next(name for name in parts.tests if name != "seen")
            for side, source, part in (("train", parts.train, "train"), (asked, parts.tests[asked], "test")):
                batch = task.render(source.draw(5, seed=5), seed=6, part=part)  # type: ignore[arg-type]
                cells += [
                    Cell(shown(image, 2), f"{side}: {label}")
                    for image, label in zip(batch.inputs, batch.targets.tolist(), strict=True)
                ]
            rows.append((f"setting {setting},\n{layout}" + (f", distance {distance}" if distance else ""), cells))
    notes = [
        "The class is the first digit (left, or red). A: in training the second equals the first or is the next one.",
        "B: the second digit is any. B-noise: noise in its place, in training. All are tested on the pairs not in A.",
        "In channels, the first digit is shown in red and the second in cyan: white is where both are lit.",
        "Below each picture: its set and its class.",
        f"Images: {images}.",
    ]
    yield "digit_pairs", Sheet("Digit pairs: settings A, B and B-noise", notes, rows)


def conjunctions(images: Digits) -> Iterator[tuple[str, Sheet]]:
    """Every conjunction task with images for its factors."""
    common: dict[str, Any] = {"code": "images", "images": images, "distance": 20}
    tasks: dict[str, ConjunctionTask] = {
        "addition": Addition(**common),
        "addition, dispersed": Addition(dispersed=True, **common),
        "context dependence,\nk = 3": ContextDependence(k=3, **common),
        "transitive equivalence": TransitiveEquivalence(classes=(5, 5), **common),
        "transitive ordering": TransitiveOrdering(**common),
        "invariance": Invariance(**common),
        "partial exposure": PartialExposure(**common),
    }
    rows = []
    for name, task in tasks.items():
        parts = task.own_parts(seed=0)
        cells = []
        for side in ("seen", "unseen"):
            latents = parts.tests[side].draw(4, seed=8)
            batch = task.render(latents, seed=9, part="train")
            for image, codes, target in zip(
                batch.inputs, latents.tolist(), batch.targets.flatten().tolist(), strict=True
            ):
                values = [factor.labels[code] for factor, code in zip(task.space.factors, codes, strict=True)]
                cells.append(Cell(shown(image, 2), f"{side}: {', '.join(values)} -> {target:g}"))
        rows.append((name, cells))
    notes = [
        "Each value of a factor is a class of images, and each factor has a channel of its own.",
        "The first factor is shown in red, the second in cyan; three factors in red, green and blue.",
        "Below each picture: its side, the factors' values, and the target (a number, or class 0 for -1 and 1 for +1).",
        f"Images: {images}.",
    ]
    yield "conjunctions", Sheet("Conjunction tasks as images", notes, rows)


def toy() -> Iterator[tuple[str, Sheet]]:
    """Both settings, training and unseen, coloured by class."""
    rows = []
    settings: tuple[Any, ...] = ("A", "B")
    for setting in settings:
        task = Toy(setting=setting)
        parts = task.own_parts(seed=0)
        cells = []
        for side, source in (("training", parts.train), ("test: unseen", parts.tests["unseen"])):
            batch = task.render(source.draw(600, seed=1), seed=0, part="train")
            groups = [(batch.inputs[batch.targets == label], colour) for label, colour in ((0, BLUE), (1, ORANGE))]
            cells.append(Cell(points(groups, ("x1", "x2"), low=-1.0, size=260), side))
        rows.append((f"setting {setting}", cells))
    notes = [
        "Blue is class 0, orange is class 1; x1 alone decides. Axes from -1 to 1.",
        "In A the quadrant where both are positive is never shown; in B x2 says nothing about the class.",
    ]
    yield "toy", Sheet("The 2-D toy", notes, rows)


def local_images() -> Digits:
    """MNIST where its files are at hand; nothing is fetched for a sheet."""
    folder = Path(os.environ.get("RECOMBINE_DATA") or "there/is/none")
    return "mnist" if (folder / "mnist" / "train-images-idx3-ubyte.gz").is_file() else "synthetic"


def sheets() -> dict[str, Callable[[], Iterator[tuple[str, Sheet]]]]:
    """What can be drawn, by name."""
    images = local_images()
    return {
        "relations": relations,
        "sprites": sprites,
        "bumps": bumps,
        "digits": lambda: digits(images),
        "conjunctions": lambda: conjunctions(images),
        "toy": toy,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw those that were asked for, and say where they are."""
    parser = argparse.ArgumentParser(description="Draw a contact sheet of every visual task.")
    parser.add_argument("--out", type=Path, default=SHEETS, help="the folder to write to")
    parser.add_argument("--only", nargs="*", choices=list(sheets()), help="draw these alone")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.only or sheets():
        for file, sheet in sheets()[name]():
            path = given.out / f"{file}.png"
            sheet.draw().save(path)
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
