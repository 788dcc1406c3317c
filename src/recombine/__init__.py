"""recombine tells whether a model will handle combinations of factors that it has never seen together.

The public names, and nothing else. Each is loaded when it is first used, so that `import recombine` stays quick: it is
the one part of a command in which an interrupt is not heard.
"""

from importlib import import_module

from recombine.base.version import __version__

TYPE_CHECKING = False  # as in `typing`, without loading it
if TYPE_CHECKING:
    from typing import Any

    from recombine.base.errors import RecombineError as RecombineError
    from recombine.base.result import Result as Result
    from recombine.base.result import load as load
    from recombine.data.proposal import Proposal as Proposal
    from recombine.data.proposal import propose as propose
    from recombine.data.read import read as read
    from recombine.data.space import Factor as Factor
    from recombine.data.space import Space as Space
    from recombine.data.split_sides import SplitColumn as SplitColumn
    from recombine.data.support import Support as Support
    from recombine.numerics.resampling import IntervalSettings as IntervalSettings
    from recombine.verbs.audit.audit import Audit as Audit
    from recombine.verbs.audit.audit import audit as audit
    from recombine.verbs.diff.diff import Diff as Diff
    from recombine.verbs.diff.diff import diff as diff
    from recombine.verbs.evaluate.evaluation import Evaluation as Evaluation
    from recombine.verbs.evaluate.evaluation import evaluate as evaluate
    from recombine.verbs.evaluate.outcomes import Score as Score
    from recombine.verbs.evaluate.scoreboard.scoreboard import Scoreboard as Scoreboard
    from recombine.verbs.plan.plan import Plan as Plan
    from recombine.verbs.plan.plan import plan as plan
    from recombine.verbs.predict.backtest import Backtest as Backtest
    from recombine.verbs.predict.backtest import backtest as backtest
    from recombine.verbs.predict.kernel.salience import Salience as Salience
    from recombine.verbs.predict.predict import predict as predict
    from recombine.verbs.predict.prediction import Prediction as Prediction
    from recombine.verbs.rehearse.rehearsal import Rehearsal as Rehearsal
    from recombine.verbs.rehearse.rehearsal import rehearse as rehearse
    from recombine.verbs.split.checker import check_split as check_split
    from recombine.verbs.split.compound_divergence import compound_divergence as compound_divergence
    from recombine.verbs.split.conjunction_holdout import HoldOutConjunctions as HoldOutConjunctions
    from recombine.verbs.split.contract import Contract as Contract
    from recombine.verbs.split.divergence_search import CompoundDivergence as CompoundDivergence
    from recombine.verbs.split.geometric_holdout import Corner as Corner
    from recombine.verbs.split.geometric_holdout import Diagonal as Diagonal
    from recombine.verbs.split.geometric_holdout import Donut as Donut
    from recombine.verbs.split.geometric_holdout import OrthogonalPlanes as OrthogonalPlanes
    from recombine.verbs.split.lint.claims import Expectation as Expectation
    from recombine.verbs.split.lint.lint import lint as lint
    from recombine.verbs.split.lint.lint_result import Lint as Lint
    from recombine.verbs.split.random_holdout import CombinationKFold as CombinationKFold
    from recombine.verbs.split.random_holdout import HoldOutCombinations as HoldOutCombinations
    from recombine.verbs.split.random_holdout import train_test_split as train_test_split
    from recombine.verbs.split.split import split as split
    from recombine.verbs.split.split_result import Split as Split

_HOME = {
    "Audit": "recombine.verbs.audit.audit",
    "Backtest": "recombine.verbs.predict.backtest",
    "CombinationKFold": "recombine.verbs.split.random_holdout",
    "CompoundDivergence": "recombine.verbs.split.divergence_search",
    "Contract": "recombine.verbs.split.contract",
    "Corner": "recombine.verbs.split.geometric_holdout",
    "Diagonal": "recombine.verbs.split.geometric_holdout",
    "Diff": "recombine.verbs.diff.diff",
    "Donut": "recombine.verbs.split.geometric_holdout",
    "Evaluation": "recombine.verbs.evaluate.evaluation",
    "Factor": "recombine.data.space",
    "HoldOutCombinations": "recombine.verbs.split.random_holdout",
    "HoldOutConjunctions": "recombine.verbs.split.conjunction_holdout",
    "Expectation": "recombine.verbs.split.lint.claims",
    "IntervalSettings": "recombine.numerics.resampling",
    "Lint": "recombine.verbs.split.lint.lint_result",
    "Score": "recombine.verbs.evaluate.outcomes",
    "SplitColumn": "recombine.data.split_sides",
    "OrthogonalPlanes": "recombine.verbs.split.geometric_holdout",
    "Plan": "recombine.verbs.plan.plan",
    "Prediction": "recombine.verbs.predict.prediction",
    "Proposal": "recombine.data.proposal",
    "RecombineError": "recombine.base.errors",
    "Rehearsal": "recombine.verbs.rehearse.rehearsal",
    "Result": "recombine.base.result",
    "Salience": "recombine.verbs.predict.kernel.salience",
    "Scoreboard": "recombine.verbs.evaluate.scoreboard.scoreboard",
    "Space": "recombine.data.space",
    "Split": "recombine.verbs.split.split_result",
    "Support": "recombine.data.support",
    "audit": "recombine.verbs.audit.audit",
    "backtest": "recombine.verbs.predict.backtest",
    "check_split": "recombine.verbs.split.checker",
    "compound_divergence": "recombine.verbs.split.compound_divergence",
    "diff": "recombine.verbs.diff.diff",
    "evaluate": "recombine.verbs.evaluate.evaluation",
    "lint": "recombine.verbs.split.lint.lint",
    "load": "recombine.base.result",
    "plan": "recombine.verbs.plan.plan",
    "predict": "recombine.verbs.predict.predict",
    "propose": "recombine.data.proposal",
    "read": "recombine.data.read",
    "rehearse": "recombine.verbs.rehearse.rehearsal",
    "split": "recombine.verbs.split.split",
    "train_test_split": "recombine.verbs.split.random_holdout",
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
    "split",
    "train_test_split",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOME:
        raise AttributeError(f"module 'recombine' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
