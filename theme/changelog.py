"""The changelog of the repository as a page of the site, whose links begin in another folder."""

from pathlib import Path
from typing import Any

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page."""
    if page.file.src_uri != "changelog.md":
        return markdown
    return CHANGELOG.read_text(encoding="utf-8").replace("](docs/", "](")
