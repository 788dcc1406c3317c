"""Any saved result, drawn: `draw` makes one self-contained HTML page, `view` what a notebook shows.

Both are made from a record alone, so that what was saved can be drawn again by any later version.
"""

from recombine.errors import RecordError
from recombine.records import Record
from recombine.report.audit_page import audit_page
from recombine.report.diff_page import diff_page
from recombine.report.evaluation_page import evaluation_page
from recombine.report.inline import view
from recombine.report.plan_page import plan_page
from recombine.report.prediction_page import prediction_page
from recombine.report.probe_page import probe_page
from recombine.report.rehearsal_page import rehearsal_page
from recombine.report.split_pages import lint_page, split_page
from recombine.report.study_page import study_page

__all__ = ["draw", "view"]

_PAGES = {
    "audit": audit_page,
    "diff": diff_page,
    "evaluation": evaluation_page,
    "lint": lint_page,
    "plan": plan_page,
    "prediction": prediction_page,
    "probe": probe_page,
    "rehearsal": rehearsal_page,
    "split": split_page,
    "study": study_page,
}


def draw(record: Record) -> str:
    """The page of a record, as HTML."""
    if record.kind not in _PAGES:
        raise RecordError(
            f"a {record.kind} has no page of its own",
            why="a page shows what was found about combinations",
            instead="draw what it was evaluated to be: run.evaluate().page('run.html')",
        )
    return _PAGES[record.kind](record)
