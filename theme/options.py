"""Options of commands that stay whole where a line ends: a browser breaks after a hyphen, which left `--` behind."""

import re
from typing import Any

_COMMANDS = re.compile(r'<div class="language-console.*?</pre>', re.DOTALL)
_OPTION = re.compile(r"(?<=</span>)--[\w-]+")


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return _COMMANDS.sub(lambda block: _OPTION.sub(r'<span class="option">\g<0></span>', block[0]), html)
