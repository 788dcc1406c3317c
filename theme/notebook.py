"""The notebook of the examples as a page of the site: executed while the site is built, with what its cells show."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "notebooks" / "first_look.ipynb"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return _executed() if page.file.src_uri == "notebook.md" else markdown


@cache  # `mkdocs serve` builds the site again and again
def _executed() -> str:
    notebook = nbformat.read(NOTEBOOK, 4)
    NotebookClient(notebook, timeout=300).execute()
    return "\n\n".join(part for cell in notebook.cells for part in _parts(cell))


def _parts(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        data = output.get("data", {})
        if "text/html" in data:
            # a blank line would end the block, and what follows would be read as Markdown
            yield "<div class='shown'>" + "\n".join(line for line in data["text/html"].splitlines() if line) + "</div>"
        elif "text/plain" in data:
            yield f"```text\n{data['text/plain']}\n```"
