from .claims import Claim as Claim
from .study import Study as Study
from .study_result import StudyResult as StudyResult
from .study_run import report_study as report_study
from .study_run import run_study as run_study

__all__: list[str]
