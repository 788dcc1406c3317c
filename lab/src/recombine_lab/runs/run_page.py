"""A run has no page of its own: what it answered is evaluated, and that has one."""

from recombine.base.errors import RecordError
from recombine.base.records import Record
from recombine.output.page import Page


def _refuse(record: Record) -> str:
    raise RecordError(
        f"a {record.kind} has no page of its own",
        why="a page shows what was found about combinations",
        instead="draw what it was evaluated to be: run.evaluate().page('run.html')",
    )


PAGE = Page(_refuse, lambda _: None)
