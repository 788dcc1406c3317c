"""A planted gap: two factors of five values, one of the 25 cells (4 % of the test rows) absent from training.

Shown: what `recombine.audit` says about the training table, and whether it names the cell. With --peers also
what the standard train/test checks of deepchecks, Evidently and cleanlab say about the same two tables, and
what they say where training has no gap: an alarm that sounds in both says nothing about it. Each peer is
installed into an environment of its own, with the versions that it needs: that takes minutes and a network.
"""

import csv
import itertools
import json
import random
import subprocess
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure
import recombine

MATERIALS = ("cotton", "linen", "silk", "suede", "wool")
GARMENTS = ("boots", "coat", "gloves", "hat", "scarf")
GAP = {"material": "silk", "garment": "boots"}
TRAIN_ROWS, TEST_ROWS = 9_600, 2_500
NAMES = ("material", "garment", "price", "label")
Row = tuple[str, str, float, str]
MOST_PRINTED = 16  # of a peer's checks; where there are more, only the alarms

PEERS = {
    "deepchecks": (
        "deepchecks==0.19.1",
        "numpy==1.26.*",
        "scikit-learn==1.7.*",
        "pandas==2.3.*",
        "setuptools<81",
    ),
    "evidently": ("evidently==0.7.23", "pandas<3"),
    "cleanlab": ("cleanlab[datalab]",),
}


@dataclass(frozen=True)
class Said:
    """One check of a peer: its name, what it said, and whether it raised an alarm."""

    check: str
    said: str
    alarm: bool

    @property
    def names_the_gap(self) -> bool:
        """Whether both values of the missing cell stand in what it said."""
        return all(value in self.said.lower() for value in GAP.values())


def rows(count: int, *, seed: int, with_gap: bool) -> list[Row]:
    """A table in which every cell is equally likely, but for the gap."""
    chance = random.Random(seed)
    gap = tuple(GAP.values()) if with_gap else None
    cells = [cell for cell in itertools.product(MATERIALS, GARMENTS) if cell != gap]
    made = []
    for place in range(count):
        material, garment = cells[place % len(cells)]
        price = round(chance.gauss(40 + 5 * MATERIALS.index(material), 8), 6)
        warmth = MATERIALS.index(material) + GARMENTS.index(garment) + chance.gauss(0, 1)
        made.append((material, garment, price, "warm" if warmth > 4 else "light"))
    chance.shuffle(made)
    return made


def write_csv(file: Path, table: list[Row]) -> None:
    """As every tool can read it."""
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(NAMES)
        writer.writerows(table)


def ours(train: Path, test: Path) -> dict[str, Any]:
    """What the audit says about the training table, and how much of the test it concerns."""
    audit = recombine.audit(recombine.read(train, factors=list(GAP), target="label"))
    listed = [*audit.undetermined_examples, *(audit.leverage.weakest if audit.leverage else ())]
    missing = [dict(one.combination) for one in listed]
    with test.open() as file:
        tested = [{name: row[name] for name in GAP} for row in csv.DictReader(file)]
    unseen = sum(row in missing for row in tested)
    print("recombine audit of the training table")
    print(f"  {audit.verdict}")
    print(f"  named as missing: {'; '.join(' x '.join(one.values()) for one in missing)}")
    print(f"  test rows in what is missing: {unseen:,} of {len(tested):,} ({unseen / len(tested):.0%})")
    assert missing == [GAP], "the audit does not name the planted gap, and it alone"
    return {"verdict": audit.verdict, "missing": missing, "test_rows": unseen}


def peer(name: str, folder: Path, tables: dict[str, Path]) -> dict[str, Any]:
    """Install a peer, run its checks with the gap and without, and print what it said."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        venv.create(folder / name, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *PEERS[name]], check=True, capture_output=True)
    try:
        version, checks = checked(python, name, tables["train"], tables["test"])
        _, control = checked(python, name, tables["train without gap"], tables["test"])
    except subprocess.CalledProcessError as error:
        print(f"\n{name}: did not run: {error.stderr.strip().splitlines()[-1]}")
        return {"ran": False, "error": error.stderr[-2000:]}
    alarms, usual = ([one for one in said if one.alarm] for said in (checks, control))
    of_the_gap = [one for one in alarms if one.check not in {other.check for other in usual}]
    named = [one for one in checks if one.names_the_gap]
    print(f"\n{name} {version}: {len(checks)} checks, {len(named)} name the cell")
    print(f"  alarms: {len(alarms)} with the gap, {len(usual)} without it, {len(of_the_gap)} only with it")
    for one in checks if len(checks) <= MOST_PRINTED else alarms:
        print(f"  {'ALARM' if one.alarm else 'quiet'}  {one.check}: {' '.join(one.said.split())}")
    counts = {"checks": len(checks), "alarms": len(alarms), "alarms_without_gap": len(usual)}
    only = [one.check for one in of_the_gap]
    return {"ran": True, "version": version, **counts, "only_with_gap": only, "name_the_cell": len(named)}


def checked(python: Path, name: str, train: Path, test: Path) -> tuple[str, list[Said]]:
    """The peer's version, and what its checks say about a training and a test table."""
    script = Path(__file__).with_name("peers") / f"with_{name}.py"
    ran = subprocess.run([python, script, train, test], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout.splitlines()[-1])
    return found["version"], [Said(*one) for one in found["checks"]]


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--peers", action="store_true", help="install and run the peers too")
    parser.add_argument("--environments", type=Path, help="keep the peers' environments here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recombine-planted-") as temporary:
        tables = {name: Path(temporary) / f"{name}.csv" for name in ("train", "train without gap", "test")}
        write_csv(tables["train"], rows(TRAIN_ROWS, seed=0, with_gap=True))
        write_csv(tables["train without gap"], rows(TRAIN_ROWS, seed=0, with_gap=False))
        write_csv(tables["test"], rows(TEST_ROWS, seed=1, with_gap=False))
        found = {"recombine": ours(tables["train"], tables["test"])}
        if given.peers:
            folder = given.environments or Path(temporary)
            found |= {name: peer(name, folder, tables) for name in PEERS}
        else:
            print("\nThe peers were not run: --peers installs and runs deepchecks, Evidently and cleanlab.")
    measure.write("planted", given, found)


if __name__ == "__main__":
    main()
