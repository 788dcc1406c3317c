"""How a salience can be named: as a value, as a network and its depth, as orders, or as "fit"."""

from recombine.errors import SettingError
from recombine.tables.support import Support
from recombine.theory.estimation.estimate import estimate
from recombine.theory.features import salience_of_file
from recombine.theory.salience import Salience


def resolve(salience: Salience | str, support: Support, *, seed: int = 0) -> Salience:
    """A salience as it was given, or made from its name: a network and its depth, orders, or fitted to the data."""
    names = support.space.names
    found = _from_text(salience, support, seed) if isinstance(salience, str) else salience
    if not isinstance(found, Salience):
        raise SettingError(
            f"salience={salience!r}",
            why="it says how much each set of factors counts",
            instead="write 'fit', a network such as 'relu:3', or a Salience: Salience.by_order([0, 0.3, 0.4])",
        )
    if found.factors != len(names):
        raise SettingError(
            f"a salience of {found.factors} factors",
            why=f"the table has {len(names)}: {', '.join(names)}",
            instead="give one weight for each order from 0 to the number of factors",
        )
    return found


def _from_text(name: str, support: Support, seed: int) -> Salience:
    if name == "fit":
        return estimate(support, seed=seed)
    if name.endswith((".parquet", ".pq")):
        return salience_of_file(name, support.space)
    return Salience.parse(name, names=support.space.names)
