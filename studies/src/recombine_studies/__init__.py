"""Studies: the papers behind this library, re-run, with their claims as checks and every seed on the table.

The public names of this room; each is loaded when it is first used, so that listing them loads no torch.

To add a study: a file that ends in `STUDY = Study(…)`, its line in `catalogue`. A claim is a function over the run
table, with planted rows in `tests/studies/` on which it holds and on which it does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recombine_studies.claims import Claim as Claim
    from recombine_studies.study import Study as Study
    from recombine_studies.study_result import StudyResult as StudyResult
    from recombine_studies.study_run import report_study as report_study
    from recombine_studies.study_run import run_study as run_study

_HOME = {
    "Claim": "recombine_studies.claims",
    "Study": "recombine_studies.study",
    "StudyResult": "recombine_studies.study_result",
    "report_study": "recombine_studies.study_run",
    "run_study": "recombine_studies.study_run",
}

__all__ = ["Claim", "Study", "StudyResult", "report_study", "run_study"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine_studies' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
