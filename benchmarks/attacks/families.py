"""Every family by its name: what it attacks, and how many of a hundred cases are its own."""

from dataclasses import dataclass

from attacks import disk, environments, kills, limits, names, outputs, records, stores, tables
from attacks.case import Attack


@dataclass(frozen=True)
class Family:
    """A family of attacks; `share` of the cases are its own, and at least `least` of them."""

    attack: Attack
    share: float
    least: int = 1


FAMILIES: dict[str, Family] = {
    "tables": Family(tables.attack, 0.34, least=42),
    "records": Family(records.attack, 0.28, least=40),
    "stores": Family(stores.attack, 0.12, least=20),
    "names": Family(names.attack, 0.12, least=40),
    "outputs": Family(outputs.attack, 0.06, least=16),
    "kills": Family(kills.attack, 0.05, least=12),
    "disk": Family(disk.attack, 0.015, least=6),
    "environments": Family(environments.attack, 0.012, least=12),
    "limits": Family(limits.attack, 0.003, least=len(limits.INPUTS)),
}


def shared(cases: int) -> dict[str, int]:
    """How many cases each family gets of so many in all."""
    return {name: max(round(cases * family.share), family.least) for name, family in FAMILIES.items()}
