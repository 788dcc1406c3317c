"""Any saved result, drawn: `draw` makes one self-contained HTML page, `view` what a notebook shows.

Both are made from a record alone, so that what was saved can be drawn again by any later version.
"""

from dataclasses import replace

from recombine.base import plugins
from recombine.base.errors import RecordError
from recombine.base.records import Record
from recombine.output.audit_page import audit_page
from recombine.output.diff_page import diff_page
from recombine.output.evaluation_page import evaluation_page
from recombine.output.notebook_view import view
from recombine.output.plan_page import plan_page
from recombine.output.prediction_page import prediction_page
from recombine.output.rehearsal_page import rehearsal_page
from recombine.output.split_pages import lint_page, split_page
from recombine.output.vector_page import vector_page

__all__ = ["draw", "view"]

_PAGES = {
    "audit": audit_page,
    "diff": diff_page,
    "evaluation": evaluation_page,
    "lint": lint_page,
    "plan": plan_page,
    "prediction": prediction_page,
    "rehearsal": rehearsal_page,
    "split": split_page,
    "stored_audit": lambda record: audit_page(replace(record, kind="audit")),
    "vector_evaluation": vector_page,
}


def draw(record: Record) -> str:
    """The page of a record, as HTML."""
    if record.kind in _PAGES:
        return _PAGES[record.kind](record)
    added = plugins.load("recombine.pages", record.kind)
    if added is None:
        raise RecordError(
            f"a {record.kind} has no page of its own",
            why="a page shows what was found about combinations",
            instead=plugins.install_hint(record.kind) or "draw what it was evaluated to be",
        )
    return str(added.draw(record))
