"""Relational scenes: which of four images of random outlines breaks the rule?

What lies inside, what touches, and how many there are is true by construction, and looked at again: a small outline is
put where it fits and moved until it touches, or until it is clearly apart; what does not come out as wanted is drawn
again. Outlines are drawn before it is asked what is wanted of them, so that neither their form nor their size tells
which component is kept.

Letters: n images, M outlines in each, V vertices. Lengths are in units of the frame.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from recombine.base.checks import check_choice, check_number, check_whole
from recombine.base.seeds import derived
from recombine.data.space import Value
from recombine_lab.tasks.task import Part, Shapes
from recombine_studies.tasks.odd_one_out import ITEMS, OddOneOutTask, ProblemSet
from recombine_studies.tasks.outlines import box, gap, lines, outlines, reach

Rule = Literal["inside_contact", "inside_number", "contact_number"]
_NUMBERS = (2, 3)
_SMALLEST, _FINE = 32, 128
_IMAGES_AT_ONCE = 64
_DARKEST, _LIGHTEST = 0.0, 0.6
MOST = 4
"""The most pairs, or outlines of a clump, in a scene."""
_ROUNDS = 1000
_TRIES = 64
_GRAZING = 0.05
_FURTHER = 0.09


@dataclass(frozen=True, kw_only=True)
class Relations(OddOneOutTask):
    """Odd-one-out of four images of random outlines. The first component of a rule stands first in its name.

    - `inside_contact`: a small outline inside a large one, touching it. Broken: outside; apart from it.
    - `inside_number`: N pairs, a small outline inside a large one. Broken: one pair beside each other; N − 1 or N + 1.
    - `contact_number`: a clump of N outlines. Broken: one of them apart; N − 1 or N + 1. A clump of one touches; where
      one outline would have to be apart from itself, there are N + 1.

    N is 2 or 3 and the same for all four images; it is the factor `number`. Outlines touch where their middle lines
    come as near as 1/500 of the frame. They are apart from 3 % of the frame on, or from 2½ pixels where that is more
    (1¾ where contact is not asked for). Below 128 pixels they are drawn larger, so that this can be seen. Each image
    has a line colour of its own. Pixels x are given as (x − mean) / deviation.

    >>> problems = Relations(rule="inside_contact", size=32).tensors([(0, 2), (1, 3)], seed=0)
    >>> problems.inputs.shape, problems.targets
    (torch.Size([2, 4, 3, 32, 32]), tensor([2, 3]))
    """

    NUMERICS: ClassVar[int] = 1

    rule: Rule
    set: ProblemSet = "base"
    size: int = 128
    mean: float = 0.9
    deviation: float = 0.1

    def __post_init__(self) -> None:
        self.check_set()
        check_choice("rule", self.rule, get_args(Rule), why=f"the rules are {', '.join(get_args(Rule))}")
        why = f"below {_SMALLEST} pixels lines that touch and lines that do not look the same"
        check_whole("size", self.size, least=_SMALLEST, why=why, instead=f"write size={_SMALLEST}, 64 or 128")
        instead = "write deviation=0.1, or mean=0, deviation=1 for pixels from 0 to 1"
        check_number("deviation", self.deviation, above=0, why="pixels are divided by it", instead=instead)

    @property
    def both_in_base(self) -> bool:
        """A third of the base set breaks both components."""
        return True

    @property
    def further(self) -> Mapping[str, Sequence[Value]]:
        """How many there are, where the rule counts."""
        return {} if self.rule == "inside_contact" else {"number": _NUMBERS}

    @property
    def shapes(self) -> Shapes:
        """Four images in, one of four classes out."""
        return Shapes(inputs=(ITEMS, 3, self.size, self.size), outputs=(ITEMS,), kind="classes")

    def items(self, kept: Tensor, further: Tensor, *, seed: int, part: Part) -> Tensor:  # noqa: ARG002 - in the seed
        """Four images for each problem, (n, 4, 3, size, size)."""
        images = torch.empty(len(kept), ITEMS, 3, self.size, self.size)
        for number, start in enumerate(range(0, len(kept), _IMAGES_AT_ONCE)):
            rows = slice(start, start + _IMAGES_AT_ONCE)
            scenes = self.scenes(kept[rows], further[rows], seed=derived(seed, "scenes", number))
            rng = torch.Generator().manual_seed(derived(seed, "colours", number))
            colours = _DARKEST + (_LIGHTEST - _DARKEST) * torch.rand(len(scenes.present), 3, generator=rng)
            covered = lines(scenes.outlines, scenes.present, size=self.size, width=self._width)
            # White, less what the line takes away of it, already in the units of the inputs.
            white, ink = torch.tensor((1 - self.mean) / self.deviation), (colours - 1) / self.deviation
            drawn = torch.addcmul(white, covered[:, None], ink[..., None, None])
            images[rows] = drawn.reshape(-1, *images.shape[1:])
        return images

    def scenes(self, kept: Tensor, further: Tensor, *, seed: int) -> "Scenes":
        """The outlines of each image: `kept` (n, 4, 2) says which components each keeps, `further` (n, …) codes N."""
        rng = torch.Generator().manual_seed(seed)
        first, second = kept.flatten(0, 1).unbind(dim=1)
        if self.rule == "inside_contact":
            return one_pair(first, second, self.proportions, rng=rng)
        counts = torch.tensor(_NUMBERS)[further[:, 0]].repeat_interleave(ITEMS)
        more = torch.rand(len(counts), generator=rng) < 0.5
        if self.rule == "inside_number":
            counts = torch.where(second, counts, counts + 2 * more - 1)
            return nested_pairs(first, counts, self.proportions, rng=rng)
        more |= ~first & (counts == _NUMBERS[0])
        counts = torch.where(second, counts, counts + 2 * more - 1)
        return clumps(first, counts, self.proportions, rng=rng)

    @cached_property
    def proportions(self) -> "Proportions":
        """How large outlines are, by the rule; enlarged where pixels are few."""
        fine = self.size >= _FINE
        # Where contact is asked for, lines that do not touch must leave more than a pixel of white between them.
        apart = max(0.03, (1.75 if self.rule == "inside_number" else 2.5) / self.size)
        if self.rule == "inside_contact":
            large = (0.25, 0.5) if fine else (0.4, 0.55)
        elif self.rule == "inside_number":
            large = (0.2, 0.32) if fine else (0.26, 0.32)
        else:
            large = (0.14, 0.26) if fine else (0.18, 0.26)
        return Proportions(large=large, small=(1 / 4, 1 / 2.5), apart=apart)

    @property
    def _width(self) -> float:
        return max(1.0, self.size / 80)


@dataclass(frozen=True, kw_only=True)
class Proportions:
    """How large things are. `large` and `small` (as a share of the large one) are ranges of the box's longer side.

    Outlines touch at a distance of at most `touch`, and are apart at a distance of at least `apart`.
    """

    large: tuple[float, float]
    small: tuple[float, float]
    apart: float
    touch: float = 0.002
    margin: float = 0.03


@dataclass(frozen=True, eq=False)
class Scenes:
    """Outlines (n, M, V, 2), of which `present` (n, M) are there. Pairs stand as large, small, large, small, …"""

    outlines: Tensor
    present: Tensor


def one_pair(inner: Tensor, touching: Tensor, sizes: Proportions, *, rng: torch.Generator) -> Scenes:
    """A large and a small outline: the small one inside or outside (n), touching or apart (n)."""
    large, small = _pairs(len(inner), sizes, rng=rng)
    placed = torch.stack([large, _put(large, small, inner, touching, sizes, rng=rng)], dim=1)
    return Scenes(_somewhere(placed, sizes, rng=rng), torch.ones(placed.shape[:2], dtype=torch.bool))


def nested_pairs(nested: Tensor, counts: Tensor, sizes: Proportions, *, rng: torch.Generator) -> Scenes:
    """As many pairs as counted (n), no two outlines touching: all nested, or one of them taken apart (n)."""
    pair = torch.arange(MOST) < counts[:, None]
    image, which = pair.nonzero(as_tuple=True)
    large, small = _pairs(len(image), sizes, rng=rng)
    apart = torch.zeros(len(image), dtype=torch.bool)
    small = _put(large, small, ~apart, apart, sizes, rng=rng)

    # Nested pairs are placed by the disc around their large outline; the small one of a pair taken apart by its own.
    discs = torch.zeros(len(counts), MOST + 1, 3)
    discs[image, which] = _disc(large)
    loose = ~nested[image] & (which == 0)
    discs[image[loose], MOST] = _disc(small[loose])
    centres = _spread(discs[..., 2], torch.cat([pair, ~nested[:, None]], dim=1), sizes, rng=rng)
    shifts = centres - discs[..., :2]
    place = torch.where(loose, MOST, which)

    drawn = torch.zeros(len(counts), MOST, 2, *large.shape[1:])
    drawn[image, which, 0] = large + shifts[image, which][:, None]
    drawn[image, which, 1] = small + shifts[image, place][:, None]
    return Scenes(drawn.flatten(1, 2), pair.repeat_interleave(2, dim=1))


def clumps(touching: Tensor, counts: Tensor, sizes: Proportions, *, rng: torch.Generator) -> Scenes:
    """As many outlines as counted (n): all of them one clump, or the last one apart from the others (n)."""
    present = torch.arange(MOST) < counts[:, None]
    loose = ~touching[:, None] & (torch.arange(MOST) == counts[:, None] - 1)

    def draw(rows: Tensor) -> tuple[Tensor, Tensor]:
        return _clump(present[rows], loose[rows], sizes, rng=rng)

    placed = _until(len(counts), draw)
    return Scenes(_somewhere(placed, sizes, present=present, rng=rng), present)


def _until(n: int, draw: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Tensor:
    """Draw for the rows that are open, `(result, whether it is as wanted)`, until none is."""
    rows = torch.arange(n)
    result, good = draw(rows)
    for _ in range(_ROUNDS):
        rows = rows[~good]
        if not len(rows):
            return result
        again, good = draw(rows)
        result[rows] = again
    raise RuntimeError(f"{len(rows)} scenes could not be drawn in {_ROUNDS} rounds: these proportions leave no room")


def _pairs(n: int, sizes: Proportions, *, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """A large outline each, and a small one that fits into its middle with room around it."""

    def draw(rows: Tensor) -> tuple[Tensor, Tensor]:
        extent = _uniform(len(rows), sizes.large, rng)
        share = _uniform(len(rows), sizes.small, rng)
        both = outlines(2 * len(rows), rng=rng).reshape(len(rows), 2, -1, 2)
        both = both * torch.stack([extent, extent * share], dim=1)[:, :, None, None]
        # The vertices of all outlines lie on the same rays, so that comparing them there says what is inside.
        large, small = both.norm(dim=-1).unbind(dim=1)
        fits = (large - small).amin(dim=1) >= 1.1 * sizes.apart
        hopeful = fits.nonzero()[:, 0]
        fits[hopeful] = gap(both[hopeful, 1], both[hopeful, 0]) >= 1.1 * sizes.apart
        return both, fits

    drawn = _until(n, draw)
    return drawn[:, 0], drawn[:, 1]


def _put(
    large: Tensor, small: Tensor, inner: Tensor, touching: Tensor, sizes: Proportions, *, rng: torch.Generator
) -> Tensor:
    """The small outline moved to where it is wanted."""

    def draw(rows: Tensor) -> tuple[Tensor, Tensor]:
        host, guest, within = large[rows], small[rows], inner[rows]
        direction = _directions(len(rows), rng)
        # From within it moves outwards, from far away inwards; it has been free all the way until it touches.
        start = guest - torch.where(within, 0.0, 2.0)[:, None, None] * direction[:, None]
        far = reach(start, host, direction)
        spare = sizes.apart + _uniform(len(rows), (0.0, _FURTHER), rng)
        free = torch.where(within, (far - sizes.apart) * _uniform(len(rows), (0.0, 1.0), rng), far - spare)
        way = torch.where(touching[rows], far - 0.5 * sizes.touch, free)
        put = start + way[:, None, None] * direction[:, None]
        return put, _as_wanted(gap(put, host), touching[rows], sizes)

    return _until(len(large), draw)


def _as_wanted(distance: Tensor, touching: Tensor, sizes: Proportions) -> Tensor:
    # A grazing touch is refused: rounding could turn it into an overlap.
    touches = (distance <= sizes.touch) & (distance > _GRAZING * sizes.touch)
    return torch.where(touching, touches, distance >= sizes.apart)


def _clump(present: Tensor, loose: Tensor, sizes: Proportions, *, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Outlines moved, one after another, towards one that is there until they touch any."""
    n = len(present)
    extent = _uniform(n * MOST, sizes.large, rng)
    drawn = outlines(n * MOST, rng=rng) * extent[:, None, None]
    placed = drawn.reshape(n, MOST, *drawn.shape[1:])
    good = torch.ones(n, dtype=torch.bool)
    for k in range(1, MOST):
        rows = present[:, k].nonzero()[:, 0]
        there, wanted = placed[rows, :k], loose[rows, k]
        towards = there[torch.arange(len(rows)), _below(k, len(rows), rng)].mean(dim=1)
        direction = _directions(len(rows), rng)
        start = placed[rows, k] + (towards - 2 * direction)[:, None]
        far = reach(start.repeat_interleave(k, 0), there.flatten(0, 1), direction.repeat_interleave(k, 0))
        far = far.reshape(-1, k).amin(dim=1)
        spare = sizes.apart + _uniform(len(rows), (0.0, _FURTHER), rng)
        back = torch.where(wanted, spare, 0.5 * sizes.touch)
        put = start + ((far - back)[:, None] * direction)[:, None]
        nearest = gap(put.repeat_interleave(k, 0), there.flatten(0, 1)).reshape(-1, k).amin(dim=1)
        placed[rows, k] = put
        good[rows] &= _as_wanted(nearest, ~wanted, sizes)
    low, high = box(_filled(placed, present).flatten(1, 2))
    return placed, good & ((high - low).amax(dim=1) <= 1 - 2 * sizes.margin)


def _somewhere(placed: Tensor, sizes: Proportions, *, rng: torch.Generator, present: Tensor | None = None) -> Tensor:
    """Whole scenes (n, M, V, 2) moved to a place in the frame."""
    low, high = box((placed if present is None else _filled(placed, present)).flatten(1, 2))
    room = 1 - 2 * sizes.margin - (high - low)
    shift = sizes.margin - low + room * torch.rand(len(placed), 2, generator=rng)
    return placed + shift[:, None, None]


def _spread(radii: Tensor, present: Tensor, sizes: Proportions, *, rng: torch.Generator) -> Tensor:
    """Centres (n, G, 2) of discs that keep apart from each other and within the frame."""

    def draw(rows: Tensor) -> tuple[Tensor, Tensor]:
        radius, there = radii[rows], present[rows]
        edge = (sizes.margin + radius)[:, :, None, None]
        places = torch.rand(*radius.shape, _TRIES, 2, generator=rng)
        places = edge + (1 - 2 * edge) * places
        centres, good = places[:, :, 0], torch.ones(len(rows), dtype=torch.bool)
        # One disc after another takes the first of its places that those before it leave free.
        for k in range(1, radius.shape[1]):
            distance = (places[:, k, :, None] - centres[:, None, :k]).norm(dim=-1)
            enough = distance >= (radius[:, k, None] + radius[:, :k] + sizes.apart)[:, None]
            free = (enough | ~(there[:, k, None] & there[:, :k])[:, None]).all(dim=2)
            centres[:, k] = places[torch.arange(len(rows)), k, free.to(torch.int8).argmax(dim=1)]
            good &= free.any(dim=1)
        return centres, good

    return _until(len(radii), draw)


def _disc(outline: Tensor) -> Tensor:
    """The middle of an outline's box and its largest distance from there (m, 3)."""
    low, high = box(outline)
    middle = (low + high) / 2
    radius = (outline - middle[:, None]).norm(dim=-1).amax(dim=1)
    return torch.cat([middle, radius[:, None]], dim=1)


def _filled(placed: Tensor, present: Tensor) -> Tensor:
    """Outlines that are not there put in the place of the first, so that a box does not see them."""
    return torch.where(present[..., None, None], placed, placed[:, :1])


def _uniform(n: int, limits: tuple[float, float], rng: torch.Generator) -> Tensor:
    low, high = limits
    return low + (high - low) * torch.rand(n, generator=rng)


def _directions(n: int, rng: torch.Generator) -> Tensor:
    angle = _uniform(n, (0.0, 2 * math.pi), rng)
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def _below(limit: int, n: int, rng: torch.Generator) -> Tensor:
    return torch.randint(limit, (n,), generator=rng)
