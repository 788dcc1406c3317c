"""Is a tag the version that stands in the sources, and does the changelog say when it was released?

python3 .ci/version.py v0.1.0
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(tag: str, version: str, changelog: str, citation: str) -> list[str]:
    """What stands in the way of a release."""
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and the version in src/recombine/base/version.py is {version}")
    dated = re.search(rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d{{2}}-\d{{2}})$", changelog, re.MULTILINE)
    if dated is None:
        found.append(f"CHANGELOG.md has no line '## [{version}] - YYYY-MM-DD'")
    if changelog.partition("## [Unreleased]\n")[2].partition("## [")[0].strip():
        found.append(f"CHANGELOG.md has lines under [Unreleased]: {version} would hold what its notes do not say")
    if f"version: {version}\n" not in citation:
        found.append(f"CITATION.cff does not say 'version: {version}'")
    if dated is not None and f'date-released: "{dated[1]}"\n' not in citation:
        found.append(f"CITATION.cff does not say 'date-released: \"{dated[1]}\"'")
    return found


def main() -> int:
    """Complain, or say nothing."""
    version = re.search(r'"(.+)"', (ROOT / "src/recombine/base/version.py").read_text().split("__version__ =")[1])
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
    found = problems(sys.argv[1], version[1] if version else "", *texts)
    if version and f'"{version[1]}"' not in (ROOT / "lab/src/recombine_lab/_version.py").read_text():
        found.append(f"the version in lab/src/recombine_lab/_version.py is not {version[1]}")
    sys.stderr.writelines(f"{one}\n" for one in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
