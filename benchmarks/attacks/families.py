"""Every family by its name: what it attacks, and how many of a hundred cases are its own."""

from dataclasses import dataclass

from attacks import disk, environments, kills, limits, names, outputs, places, records, stores, strangers, tables
from attacks.case import Attack


@dataclass(frozen=True)
class Family:
    """A family of attacks; `share` of the cases are its own, and at least `least` of them."""

    attack: Attack
    share: float
    least: int = 1


FAMILIES: dict[str, Family] = {
    "tables": Family(tables.attack, 0.29, least=42),
    "records": Family(records.attack, 0.225, least=40),
    "stores": Family(stores.attack, 0.1, least=20),
    "names": Family(names.attack, 0.1, least=40),
    "outputs": Family(outputs.attack, 0.05, least=16),
    "kills": Family(kills.attack, 0.045, least=12),
    "strangers": Family(strangers.attack, 0.13, least=30),
    "places": Family(places.attack, 0.035, least=12),
    "disk": Family(disk.attack, 0.012, least=6),
    "environments": Family(environments.attack, 0.01, least=12),
    "limits": Family(limits.attack, 0.003, least=len(limits.INPUTS)),
}


def shared(cases: int) -> dict[str, int]:
    """How many cases each family gets of so many in all."""
    return {name: max(round(cases * family.share), family.least) for name, family in FAMILIES.items()}
