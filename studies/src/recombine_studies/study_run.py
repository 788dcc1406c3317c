"""Run a study: its sweeps, then its steps, then its claims. What is in the store is not done again."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from recombine.base.records import Provenance
from recombine_lab.runs.run import Configuration
from recombine_lab.runs.run_list import list_runs
from recombine_lab.runs.store import Store
from recombine_lab.sweeps.grid import SweepPlan, read_plan
from recombine_lab.sweeps.ray_pool import processors
from recombine_lab.sweeps.sweep import sweep
from recombine_lab.training.progress_bar import progress_bar
from recombine_studies.catalogue import settings_of, study_of
from recombine_studies.claims import judged
from recombine_studies.rows import Rows
from recombine_studies.step_measurements import SECONDS, Progress, kept, measured
from recombine_studies.study import Bench, Evidence, Settings, Study
from recombine_studies.study_result import StudyResult, claims_table, grade_of, verdict_of

GRID = "grid"
"""The column of the run table that says of which grid of the study a run is."""


def run_study(
    study: str | Study,
    *,
    preset: str = "small",
    store: str | Path = "studies",
    address: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    shown: bool = False,
) -> StudyResult:
    """Train and measure what the store does not hold yet, check every claim, and hand back all of it.

    `workers=0` does everything in this process, and so does the preset smoke unless told otherwise: to start workers
    takes longer than its work. `address` names a Ray cluster for the training. Stop it at any time: the same call goes
    on from where it was.
    """
    if preset == "smoke" and workers is None and address is None:
        workers = 0
    found = study_of(study) if isinstance(study, str) else study
    settings = settings_of(found, preset)
    place = _place(store)
    say = progress or _silent
    plans = plans_of(found, settings)
    merged = _merged(found, plans)
    if merged.runs:
        sweep(merged, store=place, address=address, workers=workers, progress=progress_bar if shown else None)
    evidence = Evidence(Bench(place, settings), _runs(plans, place))
    processes = processors() if workers is None else workers
    for step in found.steps:
        say(f"{found.name}: {step.name}", None)
        rows = measured(step, evidence, study=found.name, workers=processes, progress=say)
        evidence = Evidence(evidence.bench, evidence.runs, {**evidence.measured, step.name: rows})
    return _result(found, preset, evidence, missing=0)


def report_study(study: str | Study, *, preset: str = "small", store: str | Path = "studies") -> StudyResult:
    """Check the claims on what the store holds, without training or measuring anything; what is missing is counted."""
    found = study_of(study) if isinstance(study, str) else study
    settings = settings_of(found, preset)
    place = _place(store)
    Store.open(place, create=False)
    plans = plans_of(found, settings, tried=False)
    evidence = Evidence(Bench(place, settings), _runs(plans, place))
    missing = sum(map(len, plans.values())) - len(evidence.runs)
    for step in found.steps:
        rows, left = kept(step, evidence, study=found.name)
        missing += left
        evidence = Evidence(evidence.bench, evidence.runs, {**evidence.measured, step.name: rows})
    return _result(found, preset, evidence, missing=missing)


def _place(store: str | Path) -> str:
    return str(store) if "://" in str(store) else str(Path(store).absolute())


def _silent(text: str, share: float | None) -> None:
    """Nobody is told."""


def plans_of(study: Study, settings: Settings, *, tried: bool = True) -> dict[str, SweepPlan]:
    """The runs of each grid of a study; what cannot go together is told here, unless nothing is to be trained."""
    return {name: read_plan(grid, tried=tried) for name, grid in study.grids(settings).items()}


def _merged(study: Study, plans: Mapping[str, SweepPlan]) -> SweepPlan:
    """One sweep of all grids, so that no processor waits at the end of each. A run of two grids is trained once."""
    runs = {run.key: run for plan in plans.values() for run in plan.runs}
    return SweepPlan(f"the study {study.name!r}", None, tuple(runs.values()))


def _runs(plans: Mapping[str, SweepPlan], place: str) -> Rows:
    """A row for each finished run of each grid: its settings, its seed, how it ended, its scores."""
    store = Store.open(place)
    wanted = {run.key for plan in plans.values() for run in plan.runs}
    there = {line.key: line for line in list_runs(store, only=wanted)} if wanted else {}
    rows: list[dict[str, Any]] = []
    for name, plan in plans.items():
        for run in plan.runs:
            line = there.get(run.key)
            if line is not None and line.status in ("finished", "diverged"):
                rows.append({**row_of(run, name), "status": line.status, "seconds": line.seconds, **line.metrics})
    return Rows(rows)


def row_of(run: Configuration, grid: str) -> dict[str, Any]:
    """What is known of a run before it is trained: its key, its grid, its seed and its settings."""
    return {"key": run.key, GRID: grid, "seed": run.seed, **run.flat()}


def _result(study: Study, preset: str, evidence: Evidence, *, missing: int) -> StudyResult:
    findings = tuple(judged(claim, evidence) for claim in study.claims)
    diverged = len(evidence.runs.chosen(lambda row: row["status"] == "diverged"))
    distinct = {row["key"]: row for row in evidence.runs}
    seconds = sum(float(row["seconds"] or 0.0) for row in distinct.values()) + _measuring(evidence)
    tables = {"claims": claims_table(findings), "runs": evidence.runs.table()}
    if study.described:
        tables["described"] = Rows(asdict(one) for one in study.described).table()
    tables |= {name.replace(" ", "_"): rows.table() for name, rows in evidence.measured.items()}
    verdict = verdict_of(study.paper, findings, runs=len(distinct), diverged=diverged, missing=missing)
    summary = study.summary(evidence) if study.summary and not missing else ""
    command = f"recombine study run {study.name} --preset {preset}"  # without the folders of whoever ran it
    return StudyResult(
        study=study.name,
        title=study.title,
        paper=study.paper,
        question=study.question,
        preset=preset,
        verdict=" ".join(filter(None, (summary, verdict))),
        grade=grade_of(findings, missing=missing),
        findings=findings,
        remarks=tuple(study.remarks(evidence)) if study.remarks and not missing else (),
        differs=tuple(study.differs.get(preset, ())),
        changes=study.changes,
        figures=tuple(study.figures(evidence)) if not missing else (),
        runs=len(distinct),
        diverged=diverged,
        seconds=seconds,
        missing=missing,
        tables=tables,
        provenance=Provenance(source=f"study {study.name}", settings={"preset": preset}, command=command),
    )


def _measuring(evidence: Evidence) -> float:
    """Processor time of the steps: each item's, once."""
    total = 0.0
    for rows in evidence.measured.values():
        total += sum({(row.get(SECONDS) or 0.0) for row in rows})
    return total
