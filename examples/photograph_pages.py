"""Photograph the first screen of the page that the README's first lines write, in light and in dark, as PNG.

    python examples/photograph_pages.py [--out docs/pictures]

Needs chromium and Pillow; says so where there is no chromium.
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

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTH, HEIGHT, SHARPNESS = 1200, 1100, 1.16
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-sync", "--virtual-time-budget=5000"),
)
SCHEMES = {"audit-page": 1, "audit-page-dark": 0}
"""The pictures, and the number by which chromium knows light and dark."""


def photograph(page: Path, out: Path, *, browser: str, scheme: int) -> None:
    """The first screen of a page, in one colour scheme."""
    photographed(page, out, browser=browser, size=(WIDTH, HEIGHT), scheme=scheme, sharpness=SHARPNESS)
    with Image.open(out) as taken:
        taken.convert("RGB").save(out, optimize=True)


def photographed(
    page: Path, out: Path, *, browser: str, size: tuple[int, int], scheme: int = 1, sharpness: float = 1.0
) -> None:
    """A window of a page, as chromium shows it."""
    with tempfile.TemporaryDirectory() as profile:
        window = (f"--window-size={size[0]},{size[1]}", f"--force-device-scale-factor={sharpness}")
        looks = (f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={out.resolve()}")
        command = [browser, *QUIET, *window, *looks, f"--user-data-dir={profile}", page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the page, photograph it twice, and say what was written."""
    parser = argparse.ArgumentParser(description="Photograph the page of an audit.")
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder to write to")
    out: Path = parser.parse_args(arguments).out
    browser = shutil.which("chromium")
    if browser is None:
        print("skipped: no chromium here")
        return 0
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "products.csv"
        subprocess.run([sys.executable, "-m", "recombine", "demo", str(table)], check=True, capture_output=True)
        found = recombine.audit(table, factors=["material", "garment"], target="label")
        page = found.page(Path(folder) / "audit.html")
        for name, scheme in SCHEMES.items():
            picture = out / f"{name}.png"
            photograph(page, picture, browser=browser, scheme=scheme)
            print(f"{picture.name}, {picture.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
