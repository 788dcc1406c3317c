"""How large `pip install recombine` is: the core alone, in a fresh environment, counted file by file.

MB are 10^6 bytes. pip and setuptools, which every environment has, are not counted. Exits with 1 above the
limit. With `--here` the environment is the one that runs this file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LIMIT_MB = 650
LISTED = 10
PROJECT = Path(__file__).resolve().parents[1]

# Run inside the environment: what each installed distribution occupies, by its own list of files.
COUNT = """
import json
from importlib.metadata import distributions
from pathlib import Path

def occupied(distribution):
    files = {Path(distribution.locate_file(file)).resolve() for file in distribution.files or ()}
    return sum(file.stat().st_size for file in files if file.is_file())

print(json.dumps({d.metadata["Name"]: occupied(d) for d in distributions()}))
"""


def freshly_installed() -> dict[str, int]:
    """Bytes of each package that installing the project brings."""
    with tempfile.TemporaryDirectory(prefix="recombine-size-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", str(PROJECT)], check=True)
        return sizes_in(python)


def sizes_in(python: str) -> dict[str, int]:
    """Bytes of each package of an environment, largest first."""
    counted = subprocess.run([python, "-c", COUNT], check=True, capture_output=True, text=True)
    sizes = {
        name: size for name, size in json.loads(counted.stdout).items() if name.lower() not in {"pip", "setuptools"}
    }
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=LIMIT_MB, help="in MB")
    parser.add_argument("--here", action="store_true", help="measure this environment, and make none")
    given = parser.parse_args()
    limit, sizes = given.limit, sizes_in(sys.executable) if given.here else freshly_installed()
    total = sum(sizes.values()) / 1e6
    print(f"installed core: {total:.0f} MB in {len(sizes)} packages (limit {limit:g} MB)")
    for name, size in list(sizes.items())[:LISTED]:
        print(f"  {size / 1e6:7.1f}  {name}")
    return 0 if total <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
