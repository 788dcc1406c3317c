"""recombine tells whether a model will handle combinations of factors that it has never seen together.

The public names, and nothing else. Each is loaded when it is first used, so that `import recombine` stays quick: it is
the one part of a command in which an interrupt is not heard.
"""

from importlib import import_module

from recombine._version import __version__

TYPE_CHECKING = False  # as in `typing`, without loading it
if TYPE_CHECKING:
    from typing import Any

    from recombine.auditing.audit import Audit as Audit
    from recombine.auditing.audit import audit as audit
    from recombine.comparing.diff import Diff as Diff
    from recombine.comparing.diff import diff as diff
    from recombine.errors import RecombineError as RecombineError
    from recombine.evaluation.evaluation import Evaluation as Evaluation
    from recombine.evaluation.evaluation import evaluate as evaluate
    from recombine.evaluation.outcomes import Score as Score
    from recombine.loading import load as load
    from recombine.planning.plan import Plan as Plan
    from recombine.planning.plan import plan as plan
    from recombine.proposing.proposal import Proposal as Proposal
    from recombine.proposing.proposal import propose as propose
    from recombine.rehearsing.rehearsal import Rehearsal as Rehearsal
    from recombine.rehearsing.rehearsal import rehearse as rehearse
    from recombine.results import Result as Result
    from recombine.scoreboard.scoreboard import Scoreboard as Scoreboard
    from recombine.splits.checker import check_split as check_split
    from recombine.splits.combinations import CombinationKFold as CombinationKFold
    from recombine.splits.combinations import HoldOutCombinations as HoldOutCombinations
    from recombine.splits.combinations import train_test_split as train_test_split
    from recombine.splits.conjunctions import HoldOutConjunctions as HoldOutConjunctions
    from recombine.splits.contract import Contract as Contract
    from recombine.splits.divergences.compound_divergence import CompoundDivergence as CompoundDivergence
    from recombine.splits.divergences.measure import compound_divergence as compound_divergence
    from recombine.splits.geometric import Corner as Corner
    from recombine.splits.geometric import Diagonal as Diagonal
    from recombine.splits.geometric import Donut as Donut
    from recombine.splits.geometric import OrthogonalPlanes as OrthogonalPlanes
    from recombine.splits.linting.claims import Expectation as Expectation
    from recombine.splits.linting.lint import lint as lint
    from recombine.splits.linting.linted import Lint as Lint
    from recombine.splits.writing.split import Split as Split
    from recombine.splits.writing.write import write_split as write_split
    from recombine.statistics.resampling import IntervalSettings as IntervalSettings
    from recombine.tables.read import read as read
    from recombine.tables.sides import SplitColumn as SplitColumn
    from recombine.tables.space import Factor as Factor
    from recombine.tables.space import Space as Space
    from recombine.tables.support import Support as Support
    from recombine.theory.backtest import Backtest as Backtest
    from recombine.theory.backtest import backtest as backtest
    from recombine.theory.predicting import predict as predict
    from recombine.theory.prediction import Prediction as Prediction
    from recombine.theory.salience import Salience as Salience

_HOME = {
    "Audit": "recombine.auditing.audit",
    "Backtest": "recombine.theory.backtest",
    "CombinationKFold": "recombine.splits.combinations",
    "CompoundDivergence": "recombine.splits.divergences.compound_divergence",
    "Contract": "recombine.splits.contract",
    "Corner": "recombine.splits.geometric",
    "Diagonal": "recombine.splits.geometric",
    "Diff": "recombine.comparing.diff",
    "Donut": "recombine.splits.geometric",
    "Evaluation": "recombine.evaluation.evaluation",
    "Factor": "recombine.tables.space",
    "HoldOutCombinations": "recombine.splits.combinations",
    "HoldOutConjunctions": "recombine.splits.conjunctions",
    "Expectation": "recombine.splits.linting.claims",
    "IntervalSettings": "recombine.statistics.resampling",
    "Lint": "recombine.splits.linting.linted",
    "Score": "recombine.evaluation.outcomes",
    "SplitColumn": "recombine.tables.sides",
    "OrthogonalPlanes": "recombine.splits.geometric",
    "Plan": "recombine.planning.plan",
    "Prediction": "recombine.theory.prediction",
    "Proposal": "recombine.proposing.proposal",
    "RecombineError": "recombine.errors",
    "Rehearsal": "recombine.rehearsing.rehearsal",
    "Result": "recombine.results",
    "Salience": "recombine.theory.salience",
    "Scoreboard": "recombine.scoreboard.scoreboard",
    "Space": "recombine.tables.space",
    "Split": "recombine.splits.writing.split",
    "Support": "recombine.tables.support",
    "audit": "recombine.auditing.audit",
    "backtest": "recombine.theory.backtest",
    "check_split": "recombine.splits.checker",
    "compound_divergence": "recombine.splits.divergences.measure",
    "diff": "recombine.comparing.diff",
    "evaluate": "recombine.evaluation.evaluation",
    "lint": "recombine.splits.linting.lint",
    "load": "recombine.loading",
    "plan": "recombine.planning.plan",
    "predict": "recombine.theory.predicting",
    "propose": "recombine.proposing.proposal",
    "read": "recombine.tables.read",
    "rehearse": "recombine.rehearsing.rehearsal",
    "train_test_split": "recombine.splits.combinations",
    "write_split": "recombine.splits.writing.write",
}

__all__ = [
    "Audit",
    "Backtest",
    "CombinationKFold",
    "CompoundDivergence",
    "Contract",
    "Corner",
    "Diagonal",
    "Diff",
    "Donut",
    "Evaluation",
    "Expectation",
    "Factor",
    "HoldOutCombinations",
    "HoldOutConjunctions",
    "IntervalSettings",
    "Lint",
    "OrthogonalPlanes",
    "Plan",
    "Prediction",
    "Proposal",
    "RecombineError",
    "Rehearsal",
    "Result",
    "Salience",
    "Score",
    "Scoreboard",
    "Space",
    "Split",
    "SplitColumn",
    "Support",
    "__version__",
    "audit",
    "backtest",
    "check_split",
    "compound_divergence",
    "diff",
    "evaluate",
    "lint",
    "load",
    "plan",
    "predict",
    "propose",
    "read",
    "rehearse",
    "train_test_split",
    "write_split",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOME:
        raise AttributeError(f"module 'recombine' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
