"""By which rule are parts put together? Fitted to seen combinations, chosen by those left out.

Letters: n seen combinations, K parts, V values of a part, p of its coordinates, D outputs of the whole, F folds.

What a part looks like by itself is known: a vector or a picture for each value. Each rule reads linear maps of the
parts, or, where parts and wholes are pictures of one shape, the pixel itself, scaled and shifted. A rule is judged by
combinations that were left out of its fit, never by rows of one that was not; the simplest within the noise is chosen,
and none where it leaves more than a little of what can be explained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.base.checks import check_seed
from recombine.base.errors import SettingError, TableError
from recombine.base.seeds import derived
from recombine.base.words import percent
from recombine.numerics.intervals import interval
from recombine.numerics.resampling import IntervalSettings, mean
from recombine_lab.probes.probe import Probe
from recombine_lab.probes.support_probe.composition_families import (
    Family,
    LowRank,
    Put,
    elementwise_families,
    fit_heads,
    fit_low_rank,
    heads_of,
)
from recombine_lab.probes.support_probe.support import support

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
NONE = "none of these"
ENOUGH = 0.99
"""The share of what can be explained that a rule must explain on combinations left out."""
ALIKE = 0.001
"""Rules whose held-out errors differ by less of the whole's spread are as good as each other."""
_RANKS = (2, 3, 4)
_JUDGED = 12
"""Outputs of the whole that rules are judged by."""
_FEWEST, _FOLDS, _CHUNK = 20, 5, 64


@dataclass(frozen=True)
class FamilyFit:
    """A rule's R² on combinations left out, with its 95 % interval, and in which form it did best."""

    name: str
    r2: float
    low: float
    high: float
    form: str


@dataclass(frozen=True, eq=False)
class FittedComposition:
    """The rule that puts parts together, or that it is none of those known.

    `explained` is the share of what can be explained on combinations left out: all but noise, where rows that repeat a
    combination tell it (`noise`, a share of the wholes' spread, is None where none does). `as_good` are other rules
    that cannot be told from the chosen one here.
    """

    name: str
    sentence: str
    explained: float
    noise: float | None
    as_good: tuple[str, ...]
    families: tuple[FamilyFit, ...]
    composition: Callable[[Tensor], Tensor] | None
    components: Callable[[Tensor, int], Tensor] | None
    points: Numbers
    slots: Mapping[str, Sequence[int]]

    def ask_support(self, **options: Any) -> Probe:
        """The probe of support, asked about the seen combinations under the rule that was fitted."""
        if self.composition is None:
            raise SettingError(
                "no rule to ask the probe with",
                why=self.sentence,
                instead="give support(…, composition=…) a function that you know to be right",
            )
        given: dict[str, Any] = {"composition": self.composition, "components": self.components, **options}
        return support(self.points, slots=self.slots, **given)


def fit_composition(
    parts: Mapping[str, Mapping[Any, Any]],
    combinations: Mapping[str, Sequence[Any]],
    wholes: Any,
    *,
    seed: int = 0,
) -> FittedComposition:
    """By which rule parts are put together: addition, product, gating, occlusion, low rank, or none of these.

    - `parts`: for each factor and each of its values what it looks like by itself, a vector or a picture.
    - `combinations`: for each factor a column of values, one for each row.
    - `wholes`: (rows, …) what was seen of each row. Rows of one combination tell how large the noise is.

    >>> rng = np.random.default_rng(0)
    >>> parts = {name: dict(enumerate(rng.standard_normal((9, 3)))) for name in ("drug", "cell")}
    >>> seen = np.stack(np.meshgrid(range(9), range(9)), -1).reshape(-1, 2)[rng.permutation(81)[:60]]
    >>> drug, cell = (np.stack([parts[n][v] for v in seen[:, k]]) for k, n in enumerate(parts))
    >>> fit_composition(parts, {"drug": seen[:, 0], "cell": seen[:, 1]}, drug * cell).name
    'product'
    """
    check_seed(seed)
    seen = _examples(parts, combinations, wholes)
    if len(seen.codes) < _FEWEST:
        raise _too_few(seen)
    judged = _Judged.of(seen, seed)
    rules = elementwise_families(len(seen.names))
    low = [LowRank(rank) for rank in _RANKS]
    found = judged.compared([_Candidate(rule, own=True) for rule in rules] if seen.pixels else [], seen)
    if not found.told:
        mapped = [_Candidate(rule, own=False) for rule in rules] + [_Candidate(rule, own=False) for rule in low]
        found = found.beside(judged.compared(mapped, seen))
    if not found.candidates:
        raise _too_few(seen)
    return _result(found, seen, seed)


def _too_few(seen: "_Examples") -> TableError:
    return TableError(
        f"{len(seen.codes)} combinations for parts of {', '.join(str(width) for width in seen.widths)} numbers",
        why="a rule is fitted to half of them or more, and judged by others",
        instead=f"give more combinations, at least {_FEWEST}, or shorter vectors for the parts",
    )


# -- what was seen ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Examples:
    """Each part's coordinates (V, p + 1), the last of them one, and the mean whole (n, D) of each seen combination.

    Where parts look like wholes, `pixels` are (V, D) each part's own and the sums of their channels, and `looks`
    (p + 1, D) give them from coordinates. Wholes and pixels are in units of `scale`.
    """

    names: tuple[str, ...]
    coordinates: Sequence[Tensor]
    pixels: Sequence[tuple[Tensor, Tensor]]
    looks: Sequence[tuple[Tensor, Tensor]]
    codes: Ints
    wholes: Tensor
    noise: Tensor | None
    scale: float

    @property
    def widths(self) -> list[int]:
        """How many coordinates each part has."""
        return [one.shape[1] - 1 for one in self.coordinates]

    def features(self, candidate: "_Candidate", outputs: Ints) -> list[Tensor]:
        """What each head reads: (n, p + 1), or the pixels (n D, 2) where it reads its own."""
        rule = candidate.rule
        if isinstance(rule, LowRank) or not candidate.own:
            reads = range(len(self.names)) if isinstance(rule, LowRank) else rule.reads
            return [self.coordinates[part][self.codes[:, part]] for part in reads]
        pairs = zip(rule.reads, rule.masks, strict=True)
        found = [self.pixels[part][1 if mask else 0][self.codes[:, part]][:, outputs] for part, mask in pairs]
        return [_with_one(one.reshape(-1, 1)) for one in found]


def _examples(parts: Any, combinations: Any, wholes: Any) -> _Examples:
    names = tuple(parts)
    if len(names) < 2 or set(names) != set(combinations):
        raise SettingError(
            f"parts of {', '.join(map(str, names))}, combinations of {', '.join(map(str, combinations))}",
            why="a whole is put together from a part of each factor, of which there are at least two",
            instead="give parts={'shape': {'disk': …}, 'hue': {…}} and combinations={'shape': […], 'hue': […]}",
        )
    rows = np.asarray(wholes, dtype=np.float64)
    vectors = [_vectors(parts[name], name) for name in names]
    codes = np.stack([_codes(combinations[name], parts[name], name) for name in names], 1)
    if rows.ndim < 2 or len(rows) != len(codes):
        raise SettingError(
            f"wholes of shape {rows.shape} for {len(codes)} rows",
            why="each row has a whole, a vector or a picture",
            instead="give wholes as an array (rows, …)",
        )
    if not all(np.isfinite(one).all() for one in [rows, *vectors]):
        raise TableError("numbers that are not finite", why="nothing can be fitted to them", instead="leave them out")
    shape = rows.shape[1:]
    scale = float(np.sqrt(np.mean(np.square(rows)))) or 1.0
    distinct, means, noise = _means(codes, rows.reshape(len(rows), -1) / scale)
    made = [_coordinates(one.reshape(len(one), -1)) for one in vectors]
    alike = all(one.shape[1:] == shape for one in vectors)
    flat = [torch.as_tensor(one.reshape(len(one), -1) / scale) for one in vectors] if alike else []
    channels = shape[0] if len(shape) == 3 else 1
    return _Examples(
        names,
        [coordinates for coordinates, _ in made],
        [(one, _channel_sums(one, channels)) for one in flat],
        [(back / scale, _channel_sums(back / scale, channels)) for _, back in made] if alike else [],
        distinct,
        torch.as_tensor(means),
        None if noise is None else torch.as_tensor(noise),
        scale,
    )


def _vectors(values: Mapping[Any, Any], name: str) -> Numbers:
    """(V, …) What the values of one factor look like."""
    looks = [np.asarray(one, dtype=np.float64) for one in values.values()]
    if len({one.shape for one in looks}) != 1:
        raise SettingError(
            f"parts[{name!r}] of shapes {', '.join(sorted({str(one.shape) for one in looks}))}",
            why="one map is fitted to all values of a factor",
            instead="give each value a vector or a picture of the same shape",
        )
    found = np.stack(looks)
    if not np.ptp(found, axis=0).any():
        raise TableError(
            f"every value of {name!r} looks the same",
            why="what a part adds cannot be told where it never varies",
            instead="leave this factor out, or give what its values look like",
        )
    return found


def _codes(column: Any, values: Mapping[Any, Any], name: str) -> Ints:
    place = {value: number for number, value in enumerate(values)}
    plain = np.asarray(column).tolist()
    missing = [value for value in plain if value not in place]
    if missing:
        raise TableError(
            f"{name}={missing[0]!r} has no part",
            why="what it looks like by itself is not known",
            instead=f"add it to parts[{name!r}], or leave its rows out",
        )
    return np.array([place[value] for value in plain], dtype=np.int64)


def _means(codes: Ints, rows: Numbers) -> tuple[Ints, Numbers, Numbers | None]:
    """The seen combinations, the mean of each, and the variance (D,) of such a mean, where rows repeat combinations."""
    distinct, group, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    sums = np.zeros((len(distinct), rows.shape[1]))
    np.add.at(sums, group.ravel(), rows)
    means = sums / counts[:, None]
    freedom = len(rows) - len(distinct)
    if not freedom:
        return distinct, means, None
    within = np.square(rows - means[group.ravel()]).sum(0) / freedom
    return distinct, means, np.asarray(within * np.mean(1 / counts))


def _coordinates(vectors: Numbers) -> tuple[Tensor, Tensor]:
    """(V, p + 1) The vectors along their principal directions, even in spread, and a one; and the way back."""
    middle = vectors.mean(0)
    _, sizes, directions = np.linalg.svd(vectors - middle, full_matrices=False)
    kept = sizes > 1e-6 * sizes[0]
    basis = directions[kept] * (sizes[kept] / np.sqrt(len(vectors)))[:, None]
    found = (vectors - middle) @ np.linalg.pinv(basis)
    return _with_one(torch.as_tensor(found)), torch.as_tensor(np.vstack([basis, middle]))


def _channel_sums(pixels: Tensor, channels: int) -> Tensor:
    """(n, D) The sum of a pixel's channels, for each of them."""
    return torch.unflatten(pixels, 1, (channels, -1)).sum(1).repeat(1, channels)


def _with_one(rows: Tensor) -> Tensor:
    return torch.cat([rows, torch.ones(len(rows), 1, dtype=rows.dtype)], 1)


# -- the rules that are tried ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """A rule in one form: of each pixel's own parts, or of linear maps of the parts."""

    rule: Family | LowRank
    own: bool

    def numbers(self, seen: _Examples) -> int:
        """How many numbers are fitted to each output."""
        if self.own:
            return 2
        if isinstance(self.rule, LowRank):
            shared = self.rule.rank * sum(one.shape[1] for one in seen.coordinates)
            return self.rule.rank + -(-shared // seen.wholes.shape[1])
        return sum(seen.coordinates[part].shape[1] for part in self.rule.reads)

    def form(self, names: Sequence[str]) -> str:
        """In words."""
        if isinstance(self.rule, LowRank):
            return f"rank {self.rule.rank}"
        said = "each pixel's own" if self.own else "linear maps"
        order = [names[part] for part in self.rule.order]
        if not order:
            return said
        return f"{said}, {f'{order[0]} is the gate' if self.rule.name == 'gating' else ' over '.join(order)}"


@dataclass(frozen=True, eq=False)
class _Judged:
    """The outputs (D,) that rules are judged by, and which combinations each fold counts (F, n)."""

    outputs: Ints
    counted: Tensor
    fold: Ints
    seed: int

    @classmethod
    def of(cls, seen: _Examples, seed: int) -> "_Judged":
        """Outputs that vary are preferred; folds are drawn among combinations."""
        rng = np.random.default_rng(derived(seed, "folds"))
        varies = seen.wholes.var(0).numpy() + 1e-12
        count = min(_JUDGED, len(varies))
        outputs = np.sort(rng.choice(len(varies), count, replace=False, p=varies / varies.sum()))
        fold = rng.permutation(len(seen.codes)) % _FOLDS
        counted = torch.as_tensor(fold != np.arange(_FOLDS)[:, None], dtype=torch.float64)
        return cls(outputs, counted, fold, derived(seed, "starts"))

    def forms(self, candidates: Sequence[_Candidate], seen: _Examples) -> list[_Candidate]:
        """Those that half of a fold can tell; of several orders of the parts the best on the first fold."""
        first = replace(self, counted=self.counted[:1], fold=np.where(self.fold == 0, 0, -1))
        found: dict[Any, list[_Candidate]] = {}
        for one in candidates:
            if one.numbers(seen) <= int(self.counted.sum(1).min()) // 2:
                found.setdefault(one.rule if isinstance(one.rule, LowRank) else one.rule.name, []).append(one)

        def missed(one: _Candidate) -> float:
            return float(first.held_out_errors(one, seen)[self.fold == 0].mean())

        return [one[0] if len(one) == 1 else min(one, key=missed) for one in found.values()]

    def compared(self, candidates: Sequence[_Candidate], seen: _Examples) -> "_Comparison":
        """The candidates' errors on combinations left out."""
        wholes = seen.wholes[:, self.outputs]
        total = (wholes - wholes.mean(0)).square().mean(1).numpy()
        noise = 0.0 if seen.noise is None else float(seen.noise[self.outputs].mean())
        tried = self.forms(candidates, seen)
        shown = int(self.counted.sum(1).min())
        inflated = [1 + one.numbers(seen) / (shown - one.numbers(seen)) for one in tried]
        return _Comparison(tried, [self.held_out_errors(one, seen) for one in tried], inflated, total, noise)

    def held_out_errors(self, candidate: _Candidate, seen: _Examples) -> Numbers:
        """(n,) The mean squared error of each combination, by the fit that was not shown it."""
        said = _fit(candidate, seen, self.outputs, self.counted, self.seed).whole(len(self.outputs))
        held_out = said[self.fold, :, np.arange(len(self.fold))]
        return np.asarray((seen.wholes[:, self.outputs] - held_out).square().mean(1))


@dataclass(frozen=True, eq=False)
class _Fit:
    """The heads' maps (F, …, p) and how their values become the whole, for F weightings of the combinations."""

    features: Sequence[Tensor]
    maps: Any
    put: Put
    spread: Tensor | None = None

    def whole(self, outputs: int) -> Tensor:
        """(F, D, n) What it says of all combinations."""
        if self.spread is not None:
            heads = torch.stack([one @ own for one, own in zip(self.features, self.maps, strict=True)])
            return (self.put(heads) @ self.spread.mT).mT
        said = self.put(heads_of(self.features, self.maps))
        return said if said.shape[1] == outputs else torch.unflatten(said, 2, (-1, outputs)).squeeze(1).mT


def _fit(candidate: _Candidate, seen: _Examples, outputs: Ints, counted: Tensor, seed: int) -> _Fit:
    generator, wholes = torch.Generator().manual_seed(seed), seen.wholes[:, outputs]
    features, rule = seen.features(candidate, outputs), candidate.rule
    if isinstance(rule, LowRank):
        return _Fit(features, *fit_low_rank(rule, features, wholes.T, counted, generator))
    if candidate.own:
        counted, wholes = counted.repeat_interleave(wholes.shape[1], 1), wholes.reshape(-1, 1)
    return _Fit(features, fit_heads(rule, features, wholes.T, counted, generator), rule.put)


# -- which one it is -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Candidates, simplest first, each with the errors (n,) of combinations left out, and what these are held against.

    `total` (n,) is how far each combination is from the mean, `noise` the part of an error that nothing can explain,
    `inflated` by what the noise grows where as many numbers were fitted to it (as in linear regression).
    """

    candidates: Sequence[_Candidate]
    errors: Sequence[Numbers]
    inflated: Sequence[float]
    total: Numbers
    noise: float

    @property
    def spread(self) -> float:
        """What can be explained."""
        return max(float(self.total.mean()) - self.noise, 1e-12)

    @property
    def as_good(self) -> list[int]:
        """Those whose errors are larger than the least by at most one standard error, or next to nothing."""
        best = min(self.errors, key=lambda error: float(error.mean()))
        allowed = [float((one - best).std(ddof=1)) / len(best) ** 0.5 for one in self.errors]
        worse = [float((one - best).mean()) for one in self.errors]
        return [place for place, one in enumerate(worse) if one <= max(allowed[place], ALIKE * self.spread)]

    @property
    def explained(self) -> float:
        """The share of it that the chosen rule explains."""
        place = self.as_good[0]
        left = float(self.errors[place].mean()) - self.noise * self.inflated[place]
        return 1 - max(left, 0.0) / self.spread

    @property
    def told(self) -> bool:
        """Whether that is nearly all."""
        varies = float(self.total.mean()) > self.noise
        return bool(self.candidates) and varies and self.explained >= ENOUGH

    def beside(self, other: "_Comparison") -> "_Comparison":
        """With more candidates, less simple ones."""
        return replace(
            other,
            candidates=[*self.candidates, *other.candidates],
            errors=[*self.errors, *other.errors],
            inflated=[*self.inflated, *other.inflated],
        )


def _result(found: _Comparison, seen: _Examples, seed: int) -> FittedComposition:
    told, place = found.told, found.as_good[0]
    winner = found.candidates[place]
    families = _families(found, seen, winner)
    others = {found.candidates[one].rule.name for one in found.as_good} - {winner.rule.name}
    composition, components = _fitted(winner, seen, seed) if told else (None, None)
    share = percent(max(found.explained, 0.0))
    of_what = f"{share} of what {'varies' if seen.noise is None else 'can be explained'} on combinations left out"
    none = f"None of these rules puts the parts together: the best, {winner.rule.name}, tells {of_what}."
    some = f"The parts are put together by {winner.rule.name} ({winner.form(seen.names)}): it tells {of_what}."
    ends = np.cumsum([0, *seen.widths])
    return FittedComposition(
        name=winner.rule.name if told else NONE,
        sentence=some if told else none,
        explained=found.explained,
        noise=None if seen.noise is None else found.noise / max(float(found.total.mean()), 1e-12),
        as_good=tuple(one.name for one in families if one.name in others) if told else (),
        families=families,
        composition=composition,
        components=components,
        points=torch.cat([one[seen.codes[:, part], :-1] for part, one in enumerate(seen.coordinates)], 1).numpy(),
        slots={name: list(range(ends[part], ends[part + 1])) for part, name in enumerate(seen.names)},
    )


def _families(found: _Comparison, seen: _Examples, winner: _Candidate) -> tuple[FamilyFit, ...]:
    """Each rule in the form that did best; the chosen one in its own, and first."""
    best: dict[str, tuple[_Candidate, Numbers]] = {}
    pairs = zip(found.candidates, found.errors, strict=True)
    for candidate, error in sorted(pairs, key=lambda one: (one[0] != winner, float(one[1].mean()))):
        best.setdefault(candidate.rule.name, (candidate, error))
    told = []
    for name, (candidate, error) in best.items():
        missed = mean(found.total, error)
        low, high = interval(missed, IntervalSettings(), name, least=0.0) or (float("nan"),) * 2
        told.append(FamilyFit(name, 1 - missed.of_all, 1 - high, 1 - low, candidate.form(seen.names)))
    return tuple(told)


def _fitted(candidate: _Candidate, seen: _Examples, seed: int) -> tuple[Any, Any]:
    """The rule fitted to all seen combinations and all outputs: the composition, and what gives the components.

    A component is what the heads of its part give, (n, heads, D), each by a linear map of the part's coordinates.
    """
    every, outputs = torch.ones(1, len(seen.codes), dtype=torch.float64), np.arange(seen.wholes.shape[1])
    rule = candidate.rule
    if isinstance(rule, LowRank):
        found = _fit(candidate, seen, outputs, every, seed)
        assert found.spread is not None  # noqa: S101 - a low rank has one
        maps, reads = [one[0] for one in found.maps], tuple(range(len(seen.names)))
        return _composition(rule.name, reads, found.put, seen.scale, found.spread[0]), _components(maps, reads)
    pieces = [outputs] if candidate.own else np.array_split(outputs, -(-len(outputs) // _CHUNK))
    fitted = torch.cat([_fit(candidate, seen, piece, every, seed).maps[0] for piece in pieces])
    widths = [2 if candidate.own else seen.widths[part] + 1 for part in rule.reads]
    maps = [one.T for one in torch.split(fitted, widths, -1)]
    if candidate.own:
        looks = [seen.looks[part][1 if mask else 0] for part, mask in zip(rule.reads, rule.masks, strict=True)]
        maps = [_scaled(look, *one[:, 0].tolist()) for look, one in zip(looks, maps, strict=True)]
    return _composition(rule.name, rule.reads, rule.put, seen.scale), _components(maps, rule.reads)


def _scaled(look: Tensor, times: float, plus: float) -> Tensor:
    """The map (p + 1, D) of coordinates to pixels, with these scaled and shifted."""
    found = look * times
    found[-1] += plus
    return found


def _components(maps: Sequence[Tensor], reads: Sequence[int]) -> Callable[[Tensor, int], Tensor]:
    most = max(reads.count(part) for part in reads)

    def give(values: Tensor, part: int) -> Tensor:
        found = [_with_one(values.to(torch.float64)) @ one for one, own in zip(maps, reads, strict=True) if own == part]
        return torch.stack([*found, *[torch.zeros_like(found[0])] * (most - len(found))], 1)

    return give


def _composition(
    name: str, reads: Sequence[int], put: Put, scale: float, spread: Tensor | None = None
) -> Callable[[Tensor], Tensor]:
    """Heads (n, K, heads of a part, D) as one whole (n, D); a part's second head is its mask."""
    places = [(part, reads[:place].count(part)) for place, part in enumerate(reads)]

    def compose(outputs: Tensor) -> Tensor:
        whole = put(torch.stack([outputs[:, part, which] for part, which in places])) * scale
        return whole if spread is None else whole @ spread.to(outputs).T

    compose.__name__ = name  # by which the probe's sentences call it
    return compose
