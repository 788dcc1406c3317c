"""Where a command writes, and how it ends.

A place is looked at before anything is computed, and by the library again when it is written. Every verb ends alike:
its page and folder are written, then it is told to people or to machines, then the gates decide the exit code.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from recombine.base.errors import SettingError
from recombine.base.files import place_of, recover, write_text
from recombine.base.overwrite_checks import check_page, check_result_folder
from recombine.cli import options, output_formats, table_options
from recombine.cli.table_options import Many
from recombine.cli.terminal import Watch, page_written
from recombine.data.locations import TABLES, suffix_of
from recombine.output.ci_formats import CiSummary

_FILES = TABLES | {".txt", ".json", ".html", ".htm", ".md", ".xml", ".xlsx"}
"""Endings that no folder has."""


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where a result goes: to a page, to a folder, and to standard output for people or machines."""

    panel: ClassVar = "Writing the result"
    report: Annotated[
        Path | None,
        typer.Option("--report", "-r", help="Write a page to look at: FILE.html."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Save the result as a folder of JSON and Parquet, which recombine.load and recombine diff read.",
        ),
    ] = None
    force: table_options.Force = False
    as_json: table_options.AsJson = False

    @property
    def requested(self) -> output_formats.RequestedFormats:
        """The forms in which the result is told."""
        return output_formats.parse((), as_json=self.as_json)

    def check(self, kind: str, *, inputs: Iterable[Any]) -> None:
        """Refuse places that a result of this kind, or its page, must not be written to.

        `inputs` is everything that the command reads.
        """
        read = list(inputs)
        out, report = (None if given is None else place_of(given) for given in (self.out, self.report))
        requested = self.requested
        options.check_page(report)
        if out is not None and report is not None and _lies_in(report, out):
            raise SettingError(
                f"--report {report} with --out {out}",
                why="a folder that holds a page besides would no longer be known as a saved result",
                instead=f"--report {report.name}",
            )
        if report is not None:
            check_page(report, force=self.force, inputs=read)
        if out is not None:
            _refuse_file_name(out)
            recover(out)
            check_result_folder(out, kind, force=self.force, inputs=read)
        output_formats.check(requested, inputs=read, others=[out, report], force=self.force)

    def write(self, result: Any, watch: Watch) -> None:
        """Draw the page and save the folder, where they were asked for."""
        if self.report is not None:
            watch.now("drawing the page")
            result.page(self.report, force=self.force)
        if self.out is not None:
            result.save(self.out, force=self.force)

    def tell(
        self,
        *,
        content: Callable[[], Any],
        show: Callable[[], None],
        summaries: Callable[[], Sequence[CiSummary]] = tuple,
        also_written: Path | None = None,
    ) -> None:
        """Write the files of `--format`, then tell the result in the one form that goes to standard output.

        `content` is what JSON holds, `show` prints the screen for people, `summaries` are for the other forms.
        """
        requested = self.requested
        told = summaries() if requested.names - {"text", "json"} else ()
        for name, path in requested.files.items():
            written = output_formats.encode(name, told, content)
            # a file's name need not be text: what UTF-8 lacks is written by its number, as JSON writes it
            write_text(path, written.encode("utf-8", "backslashreplace").decode("utf-8"), force=self.force)
        if requested.shown != "text":
            sys.stdout.write(output_formats.encode(requested.shown, told, content))
            return
        show()
        page_written(self.report, self.out, also_written, *requested.files.values())


@dataclass(frozen=True, kw_only=True)
class FormattedOutputs(Outputs):
    """The same, and in the forms of CI servers and trackers."""

    forms: Annotated[
        Many,
        typer.Option(
            "--format",
            metavar="FORM[=FILE]",
            help="text, markdown, json, junit, sarif, github (annotations) or metrics (flat JSON); with =FILE into a "
            "file, any number of times.",
        ),
    ] = field(default_factory=list)

    @property
    def requested(self) -> output_formats.RequestedFormats:
        """The forms in which the result is told, `--json` being the short way to say one of them."""
        return output_formats.parse(self.forms, as_json=self.as_json)

    def require_gates(self, gates: Mapping[str, float], *, example: str) -> None:
        """Refuse forms that tell how checks ended where there is none."""
        output_formats.check_gates(self.requested, gates, example=example)


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
