"""The overview as a sheet to print, where a Chromium is at hand; the check of the site notices a site without it."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def on_post_build(config: Any) -> None:
    """Called by MkDocs when the site is written."""
    page = Path(config.site_dir).resolve() / "cheatsheet.html"
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is not None:
        options = ["--headless", "--no-sandbox", "--no-pdf-header-footer", f"--print-to-pdf={page.with_suffix('.pdf')}"]
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True, timeout=120)  # noqa: S603
