"""What a study came to: each claim beside what was measured, every run, the figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, final

import pyarrow as pa

from recombine.base.decoding import revive_all
from recombine.base.grades import Grade
from recombine.base.records import Provenance, Record
from recombine.base.result import Result
from recombine.base.words import amount, listing, plain_setting
from recombine.output.figures import Figure
from recombine_studies.claims import OUTCOMES, Finding, Outcome


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StudyResult(Result):
    """What a study came to.

    `findings` has each claim with its comparisons and its outcome; `tables["runs"]` every run, none dropped; a table
    for each step what it measured. `seconds` adds up how long each run and each measurement took by the clock, wherever
    and whenever that was.
    """

    kind: ClassVar[str] = "study"
    study: str
    title: str
    paper: str
    question: str
    preset: str
    verdict: str
    grade: Grade
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    differs: tuple[str, ...]
    figures: tuple[Figure, ...]
    runs: int
    diverged: int
    seconds: float
    missing: int
    tables: Mapping[str, pa.Table]
    provenance: Provenance
    changes: tuple[str, ...] = ()

    @property
    def table(self) -> pa.Table:
        """Every comparison of every claim."""
        return self.tables["claims"]

    def finding(self, name: str) -> Finding:
        """What a claim came to, by its name."""
        return next(one for one in self.findings if one.name == name)

    def record(self) -> Record:
        """The study as plain data, which can be saved, drawn and loaded."""
        data: dict[str, Any] = {name: plain_setting(getattr(self, name)) for name in _PLAIN}
        data |= {name: [plain_setting(asdict(one)) for one in getattr(self, name)] for name in ("findings", "figures")}
        return Record(self.kind, data, self.tables, self.provenance)

    @classmethod
    def from_record(cls, record: Record) -> "StudyResult":
        """Back from plain data."""
        return cls(**revive_all(cls, _PLAIN, record.data), tables=record.tables, provenance=record.provenance)


_PLAIN = tuple(one.name for one in fields(StudyResult) if one.name not in ("tables", "provenance"))


def claims_table(findings: Sequence[Finding]) -> pa.Table:
    """A row for each comparison of each claim."""
    rows = [
        {
            "claim": finding.name,
            "outcome": finding.outcome,
            "comparison": one.name,
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "n": one.n,
            "rule": one.rule,
            "threshold": one.threshold,
            "state": one.state,
        }
        for finding in findings
        for one in finding.comparisons
    ]
    numbers = ("value", "low", "high", "threshold")
    columns = ("claim", "outcome", "comparison", "value", "low", "high", "n", "rule", "threshold", "state")
    kinds = {name: pa.float64() if name in numbers else pa.int64() if name == "n" else pa.string() for name in columns}
    return pa.table({name: pa.array([row[name] for row in rows], kinds[name]) for name in columns})


def verdict_of(paper: str, findings: Sequence[Finding], *, runs: int, diverged: int, missing: int) -> str:
    """The first sentence: how many claims were checked on how many runs, and what they came to."""
    counts = Counter(one.outcome for one in findings)
    words = [
        f"{counts[outcome]} {(_SINGULAR if counts[outcome] == 1 else _PLURAL)[outcome]}"
        for outcome in OUTCOMES
        if counts[outcome]
    ]
    lost = f", {diverged} of which diverged" if diverged else ""
    left = f"; {missing} runs or measurements are still to be made" if missing else "; none is left out"
    told = listing(words) or "none could be checked"
    return f"Of {amount(len(findings), 'claim')} of {paper}, {told} ({amount(runs, 'run')}{lost}{left})."


_SINGULAR: Mapping[Outcome, str] = {
    "holds": "holds",
    "holds in part": "holds in part",
    "mixed": "is mixed",
    "does not hold": "does not hold",
    "not enough evidence": "has not enough evidence",
    "not applicable": "does not apply",
}
_PLURAL: Mapping[Outcome, str] = {
    "holds": "hold",
    "holds in part": "hold in part",
    "mixed": "are mixed",
    "does not hold": "do not hold",
    "not enough evidence": "have not enough evidence",
    "not applicable": "do not apply",
}


def grade_of(findings: Sequence[Finding], *, missing: int) -> Grade:
    """How far the paper's picture was found again."""
    states = {one.outcome for one in findings}
    tested = states - {"not enough evidence", "not applicable"}
    if missing or not tested:
        return "untested"
    if states == {"holds"}:
        return "sound"
    if tested <= {"holds", "holds in part"}:
        return "plausible"
    return "failing" if tested == {"does not hold"} else "weak"
