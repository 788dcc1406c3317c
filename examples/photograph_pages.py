"""Photograph the first screen of a real audit's page, in light and in dark, as PNG, into docs/pictures/.

    python examples/photograph_pages.py [--out docs/pictures]

Needs chromium and Pillow, and the data sets (RECOMBINE_DATA, or a folder `shared/data` beside the repository); says so
where they are not there.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

import recombine
from tables import TABLES, data_folder

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
TABLE = "ut_zappos"
WIDTH, HEIGHT, SHARPNESS = 1200, 1060, 1.16
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-sync", "--virtual-time-budget=5000"),
)
SCHEMES = {"audit-page": 1, "audit-page-dark": 0}
"""The pictures, and the number by which chromium knows light and dark."""


def photograph(page: Path, out: Path, *, browser: str, scheme: int) -> None:
    """The first screen of a page, in one colour scheme."""
    with tempfile.TemporaryDirectory() as profile:
        size = (f"--window-size={WIDTH},{HEIGHT}", f"--force-device-scale-factor={SHARPNESS}")
        looks = (f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={out.resolve()}")
        command = [browser, *QUIET, *size, *looks, f"--user-data-dir={profile}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    Image.open(out).convert("RGB").save(out, optimize=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the page, photograph it twice, and say what was written."""
    parser = argparse.ArgumentParser(description="Photograph the page of a real audit.")
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder to write to")
    out: Path = parser.parse_args(arguments).out
    folder, browser = data_folder(), shutil.which("chromium")
    if folder is None or browser is None:
        missing = "the data sets are not here; set RECOMBINE_DATA to their folder" if browser else "no chromium here"
        print(f"skipped: {missing}")
        return 0
    table = next(one for one in TABLES if one.name == TABLE)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as drawn:
        page = recombine.audit(recombine.read(folder / table.file, **table.question)).page(Path(drawn) / "audit.html")
        for name, scheme in SCHEMES.items():
            picture = out / f"{name}.png"
            photograph(page, picture, browser=browser, scheme=scheme)
            print(f"{picture.name}, {picture.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
