"""What is asked of every network: masks for its components, with a search that the controls get too.

Nothing that is reported chooses a mask: the sparsest one that does its component on held-out problems is taken. All of
the search is kept, chosen or not.
"""

import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from recombine.base.seeds import derived
from recombine_lab.probes.probe import MEASURED, Probe
from recombine_lab.probes.probe_file import group_settings
from recombine_lab.probes.subnetwork_probe.subnetworks import subnetworks
from recombine_lab.probes.subnetwork_probe.verdict import USED
from recombine_lab.training.member import Job
from recombine_lab.training.pack import job_of
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Bench, Evidence
from recombine_studies.subnetworks.grids import (
    PRETRAINED,
    QUESTIONS,
    SCENES,
    SCRATCH,
    SENTENCES,
    kept_weights,
    named,
    problems,
)
from recombine_studies.tasks.agreement import Agreement
from recombine_studies.tasks.two_questions import QUESTIONS as ASKED
from recombine_studies.tasks.two_questions import TwoQuestions

_COMPONENTS = {
    "inside contact": ("inside", "contact"),
    "inside number": ("inside", "number"),
    "contact number": ("contact", "number"),
    "subject_verb": ("subject", "verb"),
    "reflexive": ("pronoun", "antecedent"),
}
CONTROLS = ("re-initialised", "random")


def mask_items(evidence: Evidence) -> Sequence[Row]:
    """Every network on scenes or sentences that is good enough, from scratch and pretrained."""
    scratch = [row for row in evidence.runs if row["grid"] in (SCENES, SENTENCES) and _is_good(row, evidence)]
    items = [{**named(row), "origin": SCRATCH, "key": row["key"], "tuned": None} for row in scratch]
    for row in evidence.of("fine-tuning").chosen(lambda row: _is_good(row, evidence)):
        own = {name: row[name] for name in ("kind", "task", "seed", "key", "tuned")}
        items.append({**own, "origin": PRETRAINED})
    return [item | {"search": _search(evidence, item["kind"])} for item in items]


def _is_good(row: Row, evidence: Evidence) -> bool:
    """Whether a network answers enough of its task to be looked into."""
    score = row.get("seen.score")
    return row["status"] == "finished" and score is not None and score > evidence.settings["condition"]


def _search(evidence: Evidence, kind: str) -> str:
    """The settings of a search as text, so that a changed one is another item."""
    return json.dumps(dict(evidence.settings["search"][kind]), sort_keys=True)


def search_masks(item: Row, bench: Bench) -> Sequence[Row]:
    """Masks of one network and of its controls: each of the search, each that was judged, and the network's numbers."""
    run = bench.run(item["key"])
    module = run.module()
    if item["tuned"] is not None:
        module.load_state_dict(kept_weights(bench, item["tuned"]))
    task: Any = job_of(run).task
    asked = json.loads(item["search"])
    learned, tested, seed = asked.pop("problems"), asked.pop("tests"), derived(item["seed"], "masks")
    first, second = _COMPONENTS[task.pair if isinstance(task, Agreement) else item["task"]]
    components = {
        name: (
            problems(task, f"mask_{which}", learned, seed=seed, part="train"),
            problems(task, f"target_{which}", tested, seed=seed, part="test"),
        )
        for name, which in ((first, "first"), (second, "second"))
    }
    settings = group_settings(subnetworks, {"controls": CONTROLS, **asked, "base_accuracy": 0.0})
    found = subnetworks(module, components=components, **settings, seed=seed)
    both = _accuracy(module, problems(task, "both_violated", tested, seed=seed, part="test"))
    own = {"own examples": _own_examples(found)}
    network = {"table": "network", "outcome": found.outcome, "grade": found.grade, **found.numbers, **own}
    return [{**network, "both broken": both}, *told(found)]


def _own_examples(found: Probe) -> float:
    """The least that masks do of a component's own held-out examples, the other left to chance.

    Where the components do not disturb each other, the sparse masks are asked.
    """
    known = found.numbers.get("own examples")
    if known is not None:
        return known
    rows = Rows(found.tables["masks"].to_pylist()).where(who=MEASURED)
    return min(fmean(some.numbers("held out")) for some in rows.by("component").values())


def told(found: Probe) -> list[Row]:
    """A probe as rows: each mask of the search, each that was judged, all that is used, and which estimators agree.

    By one estimator there is nobody to agree with, and it stands alone.
    """
    rows: list[Row] = [{"table": name, **row} for name in ("search", "masks") for row in found.tables[name].to_pylist()]
    alone = [{"estimator": "continuous", "outcome": found.outcome, "grade": found.grade}]
    for name in ("estimators", "agreement"):
        table = found.tables.get(name)
        listed = table.to_pylist() if table is not None else alone if name == "estimators" else []
        rows += [{"table": name, **row} for row in listed]
    return rows + _used(found)


def _used(found: Probe) -> list[Row]:
    """What is left without all that a component uses, and what that does alone, in the mean over masks."""
    by_place: dict[tuple[str, str], dict[str, Any]] = {}
    for row in found.tables["measures"].to_pylist():
        place, _, test = str(row["where"]).partition(" on ")
        if not row["measure"].startswith(USED):
            continue
        one = by_place.setdefault((row["who"], place), {"table": "used", "who": row["who"], "component": place})
        name = row["measure"].removeprefix(USED)
        if not test and name != "selectivity":
            one[name] = row["value"]
        if test not in ("", place) and name == "kept":
            one["kept Other"] = row["value"]
    return list(by_place.values())


def _accuracy(module: nn.Module, examples: tuple[Tensor, Tensor]) -> float:
    with torch.no_grad():
        return float((module(examples[0]).argmax(dim=1) == examples[1]).float().mean())


def structure_items(evidence: Evidence) -> Sequence[Row]:
    """Every network that answers two questions, good or not: how it generalises is what is asked."""
    return [
        {
            "key": row["key"],
            "network": _called(row),
            "held out": row["split.test_size"],
            "steps": row["recipe.steps"],
            "seed": int(row["seed"]),
            "seen": row["seen.score"],
            "unseen": row["unseen.score"],
            "search": _search(evidence, QUESTIONS),
        }
        for row in evidence.runs.chosen(lambda row: row["grid"] == QUESTIONS and row["status"] == "finished")
    ]


def _called(row: Row) -> str:
    hidden = row.get("model.hidden")
    return f"MLP {'-'.join(map(str, hidden))}" if hidden else f"transformer {row['model.width']}"


def search_structure(item: Row, bench: Bench) -> Sequence[Row]:
    """Masks for the two questions, learned and judged by pairs of symbols that were shown."""
    run = bench.run(item["key"])
    asked = json.loads(item["search"])
    learned, tested = asked.pop("problems"), asked.pop("tests")
    components = questions(job_of(run), learned, tested, seed=derived(item["seed"], "questions"))
    settings = group_settings(subnetworks, {**asked, "controls": (), "base_accuracy": 0.0})
    found = subnetworks(run.module(), components=components, **settings, seed=item["seed"])
    named_numbers = ("selectivity", "kept Target", "left Target", "left Other", "density", "overlap between components")
    return [{"outcome": found.outcome, **{name: found.numbers[name] for name in named_numbers}}]


def questions(job: Job, learned: int, tested: int, *, seed: int) -> Mapping[str, Any]:
    """For each question, examples of the pairs that training showed: some to learn from, others to judge by."""
    task = cast("TwoQuestions", job.task)
    shown = job.exposure.parts(task, seed=0).train.every()
    if shown is None:  # its combinations are always listed
        raise AssertionError("a task of symbols has a list of combinations")
    found = {}
    for place, asked in enumerate(ASKED):
        mine = shown[shown[:, 2] == place]
        found[asked] = tuple(
            _drawn(task, mine, count, seed=derived(seed, asked, part), part=part)
            for count, part in ((learned, "train"), (tested, "test"))
        )
    return found


def _drawn(task: TwoQuestions, shown: Tensor, count: int, *, seed: int, part: Any) -> tuple[Tensor, Tensor]:
    rows = np.random.default_rng(seed).integers(len(shown), size=count)
    batch = task.render(shown[torch.from_numpy(rows)], seed=seed, part=part)
    return batch.inputs, batch.targets
