"""A study: the sweeps it runs, what it measures of the runs, the claims that it checks, and its figures.

A study is a short file in this room that ends in `STUDY = Study(…)`. What it needs beyond that belongs in the library.
Its words (title, question, claims with their sources and thresholds, what is not as published) stand in a TOML file.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict

from recombine.output.figures import Figure
from recombine_lab.runs.run import Run
from recombine_lab.runs.store import Store
from recombine_studies.claims import Check, Claim
from recombine_studies.rows import Row, Rows

Settings = Mapping[str, Any]
"""What a preset says: seeds, sizes, steps; whatever the study's grids and steps ask for."""
PRESETS = ("smoke", "small", "paper")


@dataclass(frozen=True)
class Bench:
    """Where a step works: the store with the study's runs, and the preset's settings. It is opened in every worker."""

    place: str
    settings: Settings

    @cached_property
    def store(self) -> Store:
        """The run store."""
        return Store.open(self.place)

    def run(self, key: str) -> Run:
        """A trained run by its key: `run.module()`, `run.predictions`, `run.evaluate()`."""
        return self.store.get(key)


Measuring = Callable[[Row, Bench], Sequence[Row]]
"""What turns an item into rows; a function of a module, so that other processes find it."""


@dataclass(frozen=True)
class Evidence:
    """All that is known: every run (settings, seed, status, scores; `grid` says of which grid), and what was measured.

    `runs` has the columns of `Store.table`: `task`, `task.size`, `split`, `model`, `recipe.steps`, `seed`, `status`,
    `seconds`, `key`, and the scores, for example `unseen.score`; `of(step)` has the rows that a step measured.
    """

    bench: Bench
    runs: Rows
    measured: Mapping[str, Rows] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """The preset's."""
        return self.bench.settings

    def of(self, step: str) -> Rows:
        """The rows that a step measured; none where it has not been run."""
        return self.measured.get(step, Rows([]))


@dataclass(frozen=True, kw_only=True)
class Step:
    """Something measured once for each item and kept: a probe of a run, a forecast for a task, a mask's search.

    `items` lists what is to be measured as plain mappings (with the run's key, where it is about one); `measure` turns
    one of them into rows, each of which gets the item's own columns besides. Both are functions of a module, because
    items go to other processes. Raise `version` when the numbers change. `updates` says how many gradient steps one
    item takes, for the estimate of what a preset costs.
    """

    name: str
    items: Callable[[Evidence], Sequence[Row]]
    measure: Measuring
    version: int = 1
    updates: Callable[[Settings], int] | None = None


@dataclass(frozen=True, kw_only=True)
class Described:
    """Something that the paper describes, and what of it is here; `how` it differs, or why it is missing."""

    part: Literal["task", "support", "model", "measure", "figure", "claim"]
    what: str
    state: Literal["here", "in part", "missing"]
    how: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A paper, or a question across papers, as something that can be run.

    `presets` has *smoke* (CI: seconds, decides nothing), *small* (this machine) and *paper* (published settings).
    `grids` gives a sweep's plan for each name, without a store. `trial` are the settings that make every step short
    enough to be tried (two updates). `differs` lists for a preset what is not as published, and why;
    `summary` says in a sentence what has to be known before the claims are read; `changes` what moved since it was
    registered (`registration`), each with its date and reason; `described` what the paper describes, and whether it is
    here, in part (how it differs) or missing (why). `remarks` are paragraphs with numbers of the evidence: what
    follows, what would refute it, what limits it.
    """

    name: str
    title: str
    paper: str
    question: str
    presets: Mapping[str, Settings]
    grids: Callable[[Settings], Mapping[str, Mapping[str, Any]]]
    claims: tuple[Claim, ...]
    figures: Callable[[Evidence], Sequence[Figure]]
    steps: tuple[Step, ...] = ()
    trial: Settings = field(default_factory=dict)
    differs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    described: tuple[Described, ...] = ()
    remarks: Callable[[Evidence], Sequence[str]] | None = None
    summary: Callable[[Evidence], str] | None = None


class StudyTexts(TypedDict):
    """What a study says in words, and the claims with their checks."""

    title: str
    paper: str
    question: str
    claims: tuple[Claim, ...]
    differs: Mapping[str, Sequence[str]]
    changes: tuple[str, ...]
    described: tuple[Described, ...]


def study_texts(path: Path, checks: Mapping[str, Check], presets: Mapping[str, Settings]) -> StudyTexts:
    """The words of a study from its TOML file; a check is found by the name of its claim.

    A file `paper.toml` beside it, where there is one, lists what the paper describes.
    What differs from the paper may name settings of its preset, `{image[size]}`, so that words and settings agree.
    """
    texts = tomllib.loads(path.read_text(encoding="utf-8"))
    unmatched = checks.keys() ^ {one["name"] for one in texts["claims"]}
    if unmatched:
        raise ValueError(f"claims without a check, or checks without a claim in '{path}': {sorted(unmatched)}")
    paper = path.with_name("paper.toml")
    described = tomllib.loads(paper.read_text(encoding="utf-8"))["described"] if paper.exists() else []
    claims = tuple(Claim(**one, check=checks[one["name"]]) for one in texts["claims"])
    differs = {preset: [one.format(**presets[preset]) for one in lines] for preset, lines in texts["differs"].items()}
    return StudyTexts(
        title=texts["title"],
        paper=texts["paper"],
        question=texts["question"],
        claims=claims,
        differs=differs,
        changes=tuple(texts.get("changes", ())),
        described=tuple(Described(**one) for one in described),
    )
