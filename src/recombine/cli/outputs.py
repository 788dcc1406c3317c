"""Where a command may write, and how it ends.

A place is looked at before anything is computed, and by the library again when it is written. Every verb ends alike:
its page and folder are written, then it is told to people or to machines, then the gates decide the exit code.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from recombine.cli import formats, options
from recombine.cli.show import Watch, page_written, say
from recombine.errors import SettingError
from recombine.files import place_of, recover
from recombine.overwriting import check_page, check_result_folder
from recombine.tables.locations import TABLES, suffix_of
from recombine.words import json_text

_FILES = TABLES | {".txt", ".json", ".html", ".htm", ".md", ".xml", ".xlsx"}
"""Endings that no folder has."""


def check(
    kind: str,
    *,
    out: Path | None,
    force: bool,
    inputs: Iterable[Any],
    report: Path | None = None,
    domain: Iterable[str] = (),
    forms: formats.Asked | None = None,
) -> None:
    """Refuse places that a result of this kind, or its page, must not be written to.

    `inputs` is everything that the command reads; `domain` is written as an option is, and may name files;
    `forms` are those of `--format`.
    """
    out, report = (None if given is None else place_of(given) for given in (out, report))
    read = [*inputs, *(part for part in domain if part.endswith(".json"))]
    options.check_page(report)
    if out is not None and report is not None and _lies_in(report, out):
        raise SettingError(
            f"--report {report} with --out {out}",
            why="a folder that holds a page besides would no longer be known as a saved result",
            instead=f"--report {report.name}",
        )
    if report is not None:
        check_page(report, force=force, inputs=read)
    if out is not None:
        _refuse_file_name(out)
        recover(out)
        check_result_folder(out, kind, force=force, inputs=read)
    if forms is not None:
        formats.check(forms, inputs=read, others=[out, report], force=force)


def _refuse_file_name(out: Path) -> None:
    """A result is a folder: who names a file expects one."""
    ending = suffix_of(out.name)
    if ending in _FILES:
        raise SettingError(
            f"--out {out}",
            why=f"a result is saved as a folder of JSON and Parquet, and '{ending}' is the ending of a file",
            instead=f"--out {out.with_name(out.name.partition('.')[0] or 'result')}; --report writes a page, --json "
            "prints the numbers",
        )


def _lies_in(page: Path, folder: Path) -> bool:
    here, there = Path(os.path.realpath(page)), Path(os.path.realpath(folder))
    return here == there or there in here.parents


def write(found: Any, watch: Watch, *, report: Path | None, out: Path | None, force: bool) -> None:
    """Draw the page and save the folder, where they were asked for."""
    if report is not None:
        watch.now("drawing the page")
        found.page(report, force=force)
    if out is not None:
        found.save(out, force=force)


def tell(
    *, as_json: bool, machines: Callable[[], Any], people: Callable[[], None], written: Iterable[Path | None]
) -> None:
    """JSON for machines; or a screen for people, and where things were written."""
    if as_json:
        say(json_text(machines()))
    else:
        people()
        page_written(*written)
