"""recombine tells whether a model will handle combinations of factors that it has never seen together.

The public names, and nothing else. Each is loaded when it is first used, so that `import recombine` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recombine._version import __version__

if TYPE_CHECKING:
    from recombine.auditing.audit import Audit as Audit
    from recombine.auditing.audit import audit as audit
    from recombine.errors import RecombineError as RecombineError
    from recombine.factors.read import read as read
    from recombine.factors.space import Factor as Factor
    from recombine.factors.space import Space as Space
    from recombine.factors.support import Support as Support
    from recombine.report.audit_page import audit_page as audit_page
    from recombine.report.prediction_page import prediction_page as prediction_page
    from recombine.theory.backtest import Backtest as Backtest
    from recombine.theory.backtest import backtest as backtest
    from recombine.theory.prediction import Prediction as Prediction
    from recombine.theory.prediction import predict as predict
    from recombine.theory.salience import Salience as Salience

_HOME = {
    "Audit": "recombine.auditing.audit",
    "Backtest": "recombine.theory.backtest",
    "Factor": "recombine.factors.space",
    "Prediction": "recombine.theory.prediction",
    "Salience": "recombine.theory.salience",
    "Space": "recombine.factors.space",
    "RecombineError": "recombine.errors",
    "Support": "recombine.factors.support",
    "audit": "recombine.auditing.audit",
    "audit_page": "recombine.report.audit_page",
    "backtest": "recombine.theory.backtest",
    "predict": "recombine.theory.prediction",
    "prediction_page": "recombine.report.prediction_page",
    "read": "recombine.factors.read",
}

__all__ = [
    "Audit",
    "Backtest",
    "Factor",
    "Prediction",
    "RecombineError",
    "Salience",
    "Space",
    "Support",
    "__version__",
    "audit",
    "audit_page",
    "backtest",
    "predict",
    "prediction_page",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
