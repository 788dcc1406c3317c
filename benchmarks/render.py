"""Rendering sprites on one core: `Renderer` against Spriteworld's PIL renderer, 64 × 64 pixels, 2 and 4 sprites.

Both draw the same sprites. Measured, each in a fresh process, in processor time for each image:

- spriteworld: `PILRenderer.render`, edges of whole pixels, its `Sprite` objects made beforehand;
- spriteworld, smooth edges: the same with anti_aliasing=5, as in its own examples: a canvas 5 times as wide and high;
- ours: `Renderer.pictures` in batches of 256, smooth edges, differentiable, numbers rather than bytes; with hard
  occlusion, which is what Spriteworld draws, and with the soft one of the sprites task.

Before that, the pictures are held against each other: they may differ along the edges only.

Spriteworld (`pip install spriteworld`) names a constant that Pillow has dropped; it is given back here. Without
Spriteworld only ours is measured.

Goal: not slower than Spriteworld with edges of whole pixels.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import measure

SIZE = 64
BATCH = 256
FARTHEST = 0.02  # the mean difference between their picture and ours, of colours in [0, 1]


def scenes(images: int, sprites: int) -> Any:
    """The same sprites for everybody, as the sprites task scales them: (images, sprites, 5)."""
    import torch

    from recombine_lab.tasks.sprites import Sprites

    torch.set_num_threads(1)
    chance = torch.Generator().manual_seed(0)
    return Sprites(slots=sprites).values(torch.rand(images, 5 * sprites, generator=chance))


def ours(images: int, sprites: int, composition: str) -> Callable[[], int]:
    """A batch at a time."""
    from recombine_lab.tasks.sprites import Renderer

    batches = scenes(images, sprites).split(BATCH)
    renderer = Renderer(size=SIZE, composition=composition)
    for batch in batches[:2]:
        renderer.pictures(batch)

    def work() -> int:
        return sum(len(renderer.pictures(batch)) for batch in batches)

    return work


def theirs(images: int, sprites: int, anti_aliasing: int) -> Callable[[], int]:
    """An image at a time: there is no other way."""
    render, drawn = spriteworld(scenes(images, sprites), anti_aliasing)
    render(drawn[0])

    def work() -> int:
        return sum(len(render(scene)) == SIZE for scene in drawn)

    return work


def spriteworld(values: Any, anti_aliasing: int) -> tuple[Callable[[Any], Any], list[Any]]:
    """Their renderer, and the sprites as their objects, from the back to the front."""
    from PIL import Image

    from recombine_lab.tasks.sprites import SHAPES

    Image.ANTIALIAS = Image.LANCZOS  # type: ignore[attr-defined]
    from spriteworld.renderers.color_maps import hsv_to_rgb
    from spriteworld.renderers.pil_renderer import PILRenderer
    from spriteworld.sprite import Sprite

    renderer = PILRenderer(image_size=(SIZE, SIZE), anti_aliasing=anti_aliasing, color_to_rgb=hsv_to_rgb)
    drawn = [
        [
            Sprite(x=x, y=y, shape=SHAPES[int(shape)], scale=scale, c0=hue, c1=1.0, c2=1.0)
            for x, y, shape, scale, hue in reversed(scene)
        ]
        for scene in values.tolist()
    ]
    return renderer.render, drawn


def difference(sprites: int) -> float:
    """How far their picture, with smooth edges, is from ours."""
    import numpy as np

    from recombine_lab.tasks.sprites import Renderer

    values = scenes(100, sprites)
    render, drawn = spriteworld(values, anti_aliasing=5)
    pictures = Renderer(size=SIZE, composition="hard_occlusion").pictures(values).movedim(1, -1).numpy()
    return float(np.abs(np.stack([render(scene) for scene in drawn]) / 255 - pictures).mean())


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    images, rounds = (2 * BATCH, 1) if given.smoke else (8 * BATCH, 3)
    peer = find_spec("spriteworld") is not None
    if not peer:
        print("spriteworld is not installed: only ours is measured")
    figures: dict[str, Any] = {}
    for sprites in (2, 4):
        subjects: dict[str, tuple[Any, ...]] = {
            "ours, hard occlusion": (ours, images, sprites, "hard_occlusion"),
            "ours, soft occlusion": (ours, images, sprites, "soft_occlusion"),
        }
        if peer:
            apart = difference(sprites)
            assert apart < FARTHEST, f"their pictures and ours differ by {apart:.3f}"
            figures[f"difference, {sprites} sprites"] = apart
            subjects["spriteworld"] = (theirs, images, sprites, 1)
            subjects["spriteworld, smooth edges"] = (theirs, images, sprites, 5)
        found = measure.take_turns(subjects, rounds=rounds)
        assert {one.answer for one in found.values()} == {images}, "images were lost"
        spent = {name: 1000 * one.cpu / images for name, one in found.items()}
        against = spent.get("spriteworld", float("nan"))
        print(f"\n{sprites} sprites, {SIZE} × {SIZE}, {images:,} images")
        measure.table(
            ["", "ms of processor an image", "times spriteworld", "peak GiB"],
            [[name, cpu, cpu / against, found[name].peak_gib] for name, cpu in spent.items()],
        )
        figures[f"{sprites} sprites"] = spent
    measure.write("render", given, figures)


if __name__ == "__main__":
    main()
