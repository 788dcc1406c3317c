"""Any saved result, drawn as one self-contained HTML page."""

from recombine.report.audit_page import audit_page
from recombine.report.evaluation_page import evaluation_page
from recombine.report.plan_page import plan_page
from recombine.report.prediction_page import prediction_page

__all__ = ["audit_page", "evaluation_page", "plan_page", "prediction_page"]
