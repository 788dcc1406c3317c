"""The pages of a study, as files: HTML for a reader, Markdown and SVG for a site, every table as Parquet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from recombine.base.files import write_text
from recombine.base.overwrite_checks import check_page
from recombine.base.records import Record
from recombine.base.words import span
from recombine.output.figure_layout import image
from recombine.output.headline import decimal
from recombine.output.page_frame import Data
from recombine_studies.study_page import compared, study_page


def write_pages(record: Record, folder: Path) -> list[Path]:
    """Write `NAME.md`, and beside it a folder `NAME` with `page.html`, the figures and the tables.

    The two are not called alike, since a site makes a `NAME.html` of its own from the Markdown.
    """
    name = record.data["study"]
    beside = folder / name
    beside.mkdir(parents=True, exist_ok=True)
    page = beside / "page.html"
    check_page(page, force=False, inputs=())
    write_text(page, study_page(record))
    for place, figure in enumerate(record.data["figures"], start=1):
        if figure["form"] != "matrix":
            write_text(beside / f"figure-{place}.svg", image(figure))
    for table, rows in record.tables.items():
        pq.write_table(rows, beside / f"{table}.parquet")
    text = folder / f"{name}.md"
    write_text(text, markdown(record))
    return [page, text]


def markdown(record: Record) -> str:
    """A study as Markdown, with its figures and tables beside it."""
    data = record.data
    name = data["study"]
    parts = [
        f"# {data['title']}",
        f"**{data['verdict']}**",
        f"{data['question']} Preset *{data['preset']}*; {span(data['seconds'])} of training and measuring by the "
        "clock, run by run, whatever ran beside it.",
        *_claims(data),
        *(["## What follows, and what limits it", *data["remarks"]] if data["remarks"] else []),
        *(part for place, figure in enumerate(data["figures"], start=1) for part in _figure(name, place, figure)),
        *_described(record),
        *_listed("What differs from the paper", data["differs"]),
        *_listed("Changed since it was registered", data["changes"]),
        "## Every number",
        "\n".join(
            f"- [{table.replace('_', ' ')}]({name}/{table}.parquet), {rows.num_rows:,} rows"
            for table, rows in record.tables.items()
        ),
        f"The whole as one page that works offline: [{name}/page.html]({name}/page.html). Make it again:",
        f"```console\n$ recombine study run {name} --preset {data['preset']}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _described(record: Record) -> list[str]:
    """The table of what the paper describes; a study saved before there was one has none."""
    if "described" not in record.tables:
        return []
    head = "| | the paper describes | here | how it differs, or why it is missing |\n|---|---|---|---|"
    lines = [
        f"| {one['part']} | {_cell(one['what'])} | **{one['state']}** | {_cell(one['how'])} |"
        for one in record.tables["described"].to_pylist()
    ]
    return ["## What the paper describes, and what of it is here", "\n".join([head, *lines])]


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(f"- {line}" for line in lines)] if lines else []


def _claims(data: Data) -> list[str]:
    lines = ["| claim | measured here | outcome |", "|---|---|---|"]
    for one in data["findings"]:
        ours = " *(asked by us)*" if one["ours"] else ""
        lines.append(f"| {_cell(one['says'])}{ours} | {_cell(one['measured'])} | **{one['outcome']}** |")
    details = [
        f"- **{_cell(one['says'])}** {_cell(one['source'])} *Threshold:* {_cell(one['threshold'])} "
        f"*Measured:* {_cell('; '.join(compared(each) for each in one['comparisons']) or 'nothing')}."
        for one in data["findings"]
    ]
    return [
        "## Claims",
        "\n".join(lines),
        "### Where each stands, its threshold, and every comparison",
        "\n".join(details),
    ]


def _figure(name: str, place: int, figure: Data) -> list[str]:
    title = ["## Every seed"] if place == 1 else []
    if figure["form"] == "matrix":
        return [*title, f"### {figure['title']}", _matrix(figure), figure["sentence"]]
    shown = f"![{_cell(figure['title'])}]({name}/figure-{place}.svg)"
    return [*title, f"### {figure['title']}", shown, figure["sentence"]]


def _matrix(figure: Data) -> str:
    lines = [f"| | {' | '.join(map(_cell, figure['columns']))} |", f"|---|{'---:|' * len(figure['columns'])}"]
    for name, cells in zip(figure["rows"], figure["cells"], strict=True):
        lines.append(f"| {_cell(name)} | {' | '.join('–' if cell is None else decimal(cell) for cell in cells)} |")
    return "\n".join(lines)


def _cell(text: Any) -> str:
    """Text that stands in a cell of a table as it is."""
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("*", "\\*")
