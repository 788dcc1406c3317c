"""Print pip constraints that hold every run-time dependency at the oldest version that pyproject.toml allows.

Where a dependency is named more than once, as when a group asks for more than the core does, the highest
floor counts. With `--core` only the core's own dependencies and floors are looked at: what a user gets who
installs nothing else.
"""

import argparse
import sys
import tomllib
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name
from pip._vendor.packaging.version import Version


def _projects(*, core: bool) -> list[Path]:
    root = Path(__file__).parents[1]
    return [root / folder / "pyproject.toml" for folder in ([""] if core else ["", "lab", "studies"])]


def main() -> None:
    """Read the floors and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", action="store_true", help="leave out what the extras and groups ask for")
    core = parser.parse_args().core
    projects = [tomllib.loads(file.read_text(encoding="utf-8")) for file in _projects(core=core)]
    named = [line for one in projects for line in one["project"]["dependencies"]]
    if not core:
        extras = [one["project"].get("optional-dependencies", {}).values() for one in projects]
        named += [line for groups in extras for lines in groups for line in lines]
    groups = [] if core else projects[0]["dependency-groups"].values()
    own = {one["project"]["name"] for one in projects} | {"recombine-lab"}
    runtime = [line for line in named if Requirement(line).name not in own]
    held = {canonicalize_name(Requirement(line).name) for line in runtime}
    floors: dict[str, Version] = {}
    for line in [*runtime, *(line for lines in groups for line in lines)]:
        needed = Requirement(line)
        name = canonicalize_name(needed.name)
        for bound in needed.specifier:
            if name in held and bound.operator == ">=":
                floors[name] = max(Version(bound.version), floors.get(name, Version("0")))
    without = sorted(held - floors.keys())
    if without:
        sys.exit(f"no lower bound in pyproject.toml for: {', '.join(without)}")
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in sorted(floors.items()))


if __name__ == "__main__":
    main()
