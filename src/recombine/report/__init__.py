"""Any saved result, drawn as one self-contained HTML page."""

from recombine.report.audit_page import audit_page
from recombine.report.prediction_page import prediction_page

__all__ = ["audit_page", "prediction_page"]
