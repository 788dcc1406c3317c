"""For assistants that read: every page as Markdown beside its HTML, and `llms.txt` with a line for each."""

from pathlib import Path
from typing import Any

_HEAD = "# {name}\n\n> {description}\n\nEach page below is Markdown; the same name with .html is the page for people.\n"


def on_nav(nav: Any, config: Any, files: Any) -> None:  # noqa: ARG001 - as mkdocs calls it
    """Keep the order of the menu for when the site is written."""
    config.extra["menu"] = nav


def on_post_build(config: Any) -> None:
    """Write the pages and the list."""
    site = Path(config.site_dir)
    lines = [_HEAD.format(name=config.site_name, description=config.site_description)]
    for item in config.extra.pop("menu").items:
        pages = [item] if item.is_page else [one for one in item.children if one.is_page]
        lines.append(f"## {item.title}\n")
        lines += [f"- [{page.title}]({page.file.src_uri})" for page in pages]
        lines.append("")
        for page in pages:
            copy = site / page.file.src_uri
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(page.markdown or page.content or "", encoding="utf-8")
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")
