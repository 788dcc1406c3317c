"""Runs side by side: every seed shown, with the median and the range, and no mean that could hide a collapsed one.

The score of a run is R² or the share of right answers. Where both kinds are compared, each has a name of its own
(`unseen.r2.score`, `unseen.accuracy.score`), so that no ranking sets the one against the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from recombine.base.errors import SettingError, nearest
from recombine_lab.runs.run import Run
from recombine_lab.runs.run_list import RunLine, check_names, distinguishing_settings, line_of, list_runs, metric_names
from recombine_lab.runs.store import Store

_SCORE = ".score"


@dataclass(frozen=True)
class MetricSpread:
    """One measurement over the runs of a group: what each gave, in their order, and None where it gave nothing.

    >>> MetricSpread((0.9, None, 0.1, 0.8)).median, MetricSpread((0.9, None, 0.1)).missing, MetricSpread((None,)).low
    (0.8, 1, None)
    """

    values: tuple[float | None, ...]

    @property
    def known(self) -> list[float]:
        """What was measured."""
        return [value for value in self.values if value is not None]

    @property
    def missing(self) -> int:
        """How many runs gave nothing: diverged, failed or untested."""
        return len(self.values) - len(self.known)

    @property
    def median(self) -> float | None:
        """The middle one of those that there are."""
        return median(self.known) if self.known else None

    @property
    def low(self) -> float | None:
        """The least."""
        return min(self.known, default=None)

    @property
    def high(self) -> float | None:
        """The most."""
        return max(self.known, default=None)


@dataclass(frozen=True)
class RunGroup:
    """Runs that agree in what makes the group, in order of their seeds; what they do not have is left out."""

    settings: Mapping[str, Any]
    lines: tuple[RunLine, ...]

    def spread(self, metric: str) -> MetricSpread:
        """One measurement over all of them; a damaged run's numbers are not believed."""
        return MetricSpread(
            tuple(None if line.status == "damaged" else line.metrics.get(metric) for line in self.lines)
        )


@dataclass(frozen=True)
class RunComparison:
    """Groups of runs, what tells them apart, and what varies within them besides the seed."""

    groups: tuple[RunGroup, ...]
    metrics: tuple[str, ...]
    mixed: Mapping[str, tuple[Any, ...]]

    @property
    def table(self) -> pa.Table:
        """A line for each group and measurement: settings, how many runs, the median, the least and the most."""
        rows = [
            {name: str(value) for name, value in group.settings.items()}
            | {"measured": metric, "runs": len(spread.values), "missing": spread.missing}
            | {"median": spread.median, "least": spread.low, "most": spread.high}
            for group in self.groups
            for metric in self.metrics
            if (spread := group.spread(metric)).known
        ]
        names = dict.fromkeys([name for group in self.groups for name in group.settings])
        order = [*names, "measured", "runs", "missing", "median", "least", "most"]
        return pa.table({name: [row.get(name) for row in rows] for name in order})

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        table = self.table
        head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
        lines = ["".join(f"<td>{escape(_shown(value))}</td>" for value in row.values()) for row in table.to_pylist()]
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def compare(
    runs: "Store | str | Path | Sequence[Run | RunLine]",
    *,
    by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> RunComparison:
    """Runs in groups: by the settings named, or by everything that differs but the seed.

    `runs` is a store, its folder or URL, or runs that are at hand.

    >>> import recombine_lab
    >>> recipe = {"steps": 5, "samples": "every"}
    >>> runs = [
    ...     run
    ...     for width in (4, 8)
    ...     for run in recombine_lab.fit("addition", "own", {"name": "mlp", "hidden": [width]}, recipe, seeds=2)
    ... ]
    >>> compare(runs).table["runs"].to_pylist()
    [2, 2, 2, 2]
    """
    if isinstance(runs, str | Path):
        runs = Store.open(runs, create=False)
    if isinstance(runs, Store):
        lines = list_runs(runs)
    else:
        lines = [run if isinstance(run, RunLine) else line_of(run) for run in runs]
    lines, metrics = _name_scores(lines, metrics)
    check_names(lines, by or ())
    settings = [line.select(by) for line in lines] if by is not None else what_differs(lines)
    members: dict[str, tuple[dict[str, Any], list[RunLine]]] = {}
    for line, own in zip(lines, settings, strict=True):
        members.setdefault(repr(own), (own, []))[1].append(line)
    groups = tuple(
        RunGroup(own, tuple(sorted(those, key=lambda line: (-1 if line.seed is None else line.seed, line.key))))
        for own, those in members.values()
    )
    return RunComparison(groups, _check_metrics(lines, metrics), _mixed(groups, by) if by is not None else {})


def _name_scores(lines: list[RunLine], metrics: Sequence[str] | None) -> tuple[list[RunLine], Sequence[str] | None]:
    """Scores under the name of what they are, where they are not all of one kind."""
    kinds = {line.scored for line in lines if any(name.endswith(_SCORE) for name in line.metrics)}
    if len(kinds) < 2:
        return lines, metrics
    named = [
        replace(line, metrics={_score_name(name, line.scored): value for name, value in line.metrics.items()})
        for line in lines
    ]
    known = metric_names(named)
    wanted = [
        one
        for name in metrics or ()
        for one in [_score_name(name, kind) for kind in sorted(kinds, key=str)]
        if one in known or not name.endswith(_SCORE)
    ]
    return named, list(dict.fromkeys(wanted)) or metrics


def _score_name(name: str, kind: str | None) -> str:
    """`unseen.score` as `unseen.r2.score`."""
    return f"{name.removesuffix(_SCORE)}.{kind}{_SCORE}" if name.endswith(_SCORE) and kind else name


def _shown(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def what_differs(lines: Sequence[RunLine]) -> list[dict[str, Any]]:
    """For each line what sets it apart but the seed: settings, and the code where there are several versions of it."""
    settings = distinguishing_settings(lines)
    if len({line.code for line in lines if line.code is not None}) < 2:
        return settings
    return [own | {"code": line.code} for line, own in zip(lines, settings, strict=True)]


def _check_metrics(lines: Sequence[RunLine], metrics: Sequence[str] | None) -> tuple[str, ...]:
    """The measurements asked for, each known; without any the scores of all parts, else all that there are."""
    known = metric_names(lines)
    for name in metrics or ():
        if name not in known:
            raise SettingError(
                f"no measurement {name!r}",
                why="none of these runs has one of that name",
                instead=nearest(name, known) if known else "none of them has any: they failed or are damaged",
            )
    scores = [name for name in known if name.endswith(_SCORE) and not name.startswith("train.")]
    return tuple(metrics or scores or known)


def _mixed(groups: Sequence[RunGroup], names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """What differs between runs of one group, though a group should differ in its seeds alone."""
    mixed: dict[str, dict[str, Any]] = {}
    for group in groups:
        for settings in what_differs(group.lines):
            for name, value in settings.items():
                if name not in names:
                    mixed.setdefault(name, {})[repr(value)] = value
    return {name: tuple(values.values()) for name, values in mixed.items()}
