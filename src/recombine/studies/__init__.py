"""Studies: the papers behind this library, re-run, with their claims as checks and every seed on the table.

The public names of this room; each is loaded when it is first used, so that listing them loads no torch.
"""

from typing import TYPE_CHECKING, Any

from recombine.extras import loaded

if TYPE_CHECKING:
    from recombine.studies.claims import Claim as Claim
    from recombine.studies.result import StudyResult as StudyResult
    from recombine.studies.running import report_study as report_study
    from recombine.studies.running import run_study as run_study
    from recombine.studies.study import Study as Study

_HOME = {
    "Claim": "recombine.studies.claims",
    "Study": "recombine.studies.study",
    "StudyResult": "recombine.studies.result",
    "report_study": "recombine.studies.running",
    "run_study": "recombine.studies.running",
}

__all__ = ["Claim", "Study", "StudyResult", "report_study", "run_study"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine.studies' has no attribute {name!r}")
    return loaded(__name__, name, _HOME[name])


def __dir__() -> list[str]:
    return __all__
