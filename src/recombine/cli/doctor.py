"""`recombine doctor`: what is installed, what each extra would add, and whether engines answer.

What is wanted stands in the metadata of the installed packages (`pyproject.toml`, as it was built), so nothing here has
to be kept in step with it but a few words about each extra. Nothing is printed that names a user, a folder or a
password: the first lines are what a report of a bug needs, and `recombine --version --verbose` prints those alone.
"""

import math
import os
import platform
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Annotated, Any

import typer

from recombine.base import plugins
from recombine.base.errors import RecombineError, SettingError
from recombine.base.limits import memory_here
from recombine.base.words import amount, json_text
from recombine.cli.terminal import say

_OURS = ("recombine", "recombine-lab", "recombine-studies")
_ADDS = {
    "recombine": {
        "anndata": "tables and vectors in .h5ad and .zarr",
        "delta": "Delta tables",
        "examples": "forecasts from examples",
        "hf": "data sets of Hugging Face",
        "iceberg": "Iceberg tables",
        "keras": "a scoreboard in Keras",
        "lab": "training, runs, sweeps and probes",
        "lance": "Lance tables",
        "lightning": "a scoreboard in Lightning",
        "mcp": "the verbs as tools for assistants",
        "mlflow": "a scoreboard in MLflow",
        "postgres": "tables in PostgreSQL",
        "sklearn": "a scoreboard for scikit-learn",
        "spark": "tables in Spark",
        "tensorboard": "a scoreboard in TensorBoard",
        "torchmetrics": "a scoreboard in torchmetrics",
        "transformers": "a scoreboard in the Trainer of Transformers",
        "wandb": "a scoreboard in Weights & Biases",
    },
    "recombine-lab": {"ray": "sweeps over a Ray cluster", "s3": "run stores in S3"},
}


@dataclass(frozen=True)
class Package:
    """A package that is wanted; `version` is None where it is not installed."""

    name: str
    wanted: str
    version: str | None

    @property
    def fits(self) -> bool:
        """Whether it is there, in a version that is wanted."""
        from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - 20 ms that no other command needs

        return self.version is not None and SpecifierSet(self.wanted).contains(self.version, prereleases=True)

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.name} is not installed"
        return f"{self.name} {self.version}" + ("" if self.fits else f" ({self.wanted} is wanted)")


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def wanted(distribution: str, extra: str = "") -> list[Package]:
    """What a distribution asks for: always, or for one of its extras.

    >>> {one.name for one in wanted("recombine", "anndata")} == {"h5py", "zarr"}
    True
    """
    from packaging.requirements import Requirement  # noqa: PLC0415 - as above

    rules = map(Requirement, metadata.requires(distribution) or [])
    own = [one for one in rules if ("extra" in str(one.marker or "")) == bool(extra)]
    here = [one for one in own if one.marker is None or one.marker.evaluate({"extra": extra})]
    return [Package(one.name, str(one.specifier), _installed(one.name)) for one in here]


def extras(distribution: str) -> list[str]:
    """The extras of an installed distribution, in alphabetical order."""
    return sorted(metadata.metadata(distribution).get_all("Provides-Extra") or [])


def versions() -> list[str]:
    """What a report of a bug needs, a line each; no path, no name of a user, no password.

    >>> versions()[0].startswith("recombine ")
    True
    """
    return [*_here(), *_all_packages()]


def _here() -> list[str]:
    ours = [f"{name} {version}" for name in _OURS if (version := _installed(name))]
    python = f"Python {platform.python_version()} ({platform.python_implementation()})"
    return [*ours, python, f"{platform.system()} {platform.release()} {platform.machine()}"]


def _all_packages() -> list[str]:
    found = {
        str(one)
        for name in _OURS
        if _installed(name)
        for extra in ("", *extras(name))
        for one in wanted(name, extra)
        if one.version and one.name not in _OURS
    }
    return sorted(found, key=str.lower)


def _machine() -> dict[str, Any]:
    memory = memory_here()
    return {"cores": os.cpu_count(), "memory": None if math.isinf(memory) else memory}


def _answer_of_duckdb() -> str:
    began = time.perf_counter()
    try:
        import duckdb  # noqa: PLC0415 - a broken one is what this is to find

        with duckdb.connect() as connection:
            connection.execute("SELECT 1").fetchone()
    except Exception as error:  # noqa: BLE001 - whatever it is, the other lines must be told
        return f"does not answer: {type(error).__name__}: {error}"
    return f"answers in {1000 * (time.perf_counter() - began):.0f} ms"


def _answer_of_spark() -> str:
    if _installed("pyspark") is None:
        return "is not installed: pip install 'recombine[spark]'"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "is installed, but no Java is found: install one, or set JAVA_HOME"
    return "is installed, and so is a Java; it is started for a table of it"


def _answer_of_postgres() -> str:
    if not all(one.fits for one in wanted("recombine", "postgres")):
        return "cannot be asked: pip install 'recombine[postgres]'"
    return "can be asked: give an address to see whether it answers"


def _answer_at(address: str, table: str | None) -> str:
    from recombine.data.sources import opened  # noqa: PLC0415 - Ibis, and only where an address is given

    began = time.perf_counter()
    with opened(address, table=table) as found:
        columns = len(found.table.columns)
        return f"answers in {1000 * (time.perf_counter() - began):.0f} ms: {found.name}, {amount(columns, 'column')}"


def _lines(engines: dict[str, str]) -> Iterator[str]:
    machine = _machine()
    told = f", {machine['memory'] / 2**30:.0f} GiB of memory" if machine["memory"] else ""
    yield f"{', '.join(_here())}, {machine['cores']} cores{told}"
    yield ""
    yield "needed"
    yield from (f"  {one}" for one in wanted("recombine"))
    for name in filter(_installed, _ADDS):
        yield ""
        yield f"extras of {name}"
        yield from (f"  {extra:<14}{_state_of(name, extra)}" for extra in extras(name))
    if added := plugins.others():
        yield ""
        yield "added by other packages"
        yield from (f"  {what}  {place}" for what, place in added.items())
    yield ""
    yield "engines"
    yield from (f"  {name:<14}{answer}" for name, answer in engines.items())


def _state_of(name: str, extra: str) -> str:
    missing = [one for one in wanted(name, extra) if not one.fits]
    if not missing:
        return f"installed   {_ADDS[name][extra]}"
    return f"missing     {_ADDS[name][extra]}: pip install '{name}[{extra}]' ({', '.join(map(str, missing))})"


def _as_record(engines: dict[str, str]) -> dict[str, Any]:
    def told(packages: list[Package]) -> list[dict[str, Any]]:
        return [{"name": p.name, "wanted": p.wanted, "version": p.version, "fits": p.fits} for p in packages]

    return {
        "versions": versions(),
        "machine": _machine(),
        "needed": told(wanted("recombine")),
        "extras": {
            name: {extra: told(wanted(name, extra)) for extra in extras(name)} for name in filter(_installed, _ADDS)
        },
        "added": plugins.others(),
        "engines": engines,
    }


def doctor(
    address: Annotated[str, typer.Argument(help="A table, to see whether its engine answers.")] = "",
    table: Annotated[str | None, typer.Option(help="The table's name in a database.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """What is installed, what each extra would add, and whether engines answer. Nothing is sent anywhere."""
    engines = {"DuckDB": _answer_of_duckdb(), "PostgreSQL": _answer_of_postgres(), "Spark": _answer_of_spark()}
    if table and not address:
        raise SettingError("--table", why="it names a table of a database", instead="give the database's address too")
    if as_json:
        say(json_text(_as_record(engines | ({"this table": _answer_at(address, table)} if address else {}))))
    else:
        for line in _lines(engines):
            say(line)
        if address:  # last, so that all else was told where it cannot be opened
            say(f"  {'this table':<14}{_answer_at(address, table)}")
    _refuse_what_is_broken(engines["DuckDB"])


def _refuse_what_is_broken(duckdb: str) -> None:
    wrong = [str(one) for one in wanted("recombine") if not one.fits]
    if wrong:
        raise RecombineError(
            f"what recombine needs is not there as it should be: {', '.join(wrong)}",
            why="without it commands end in errors that name something else",
            instead="pip install --upgrade recombine",
        )
    if not duckdb.startswith("answers"):
        raise RecombineError(
            f"DuckDB {duckdb}", why="it counts every file", instead="pip install --force-reinstall duckdb"
        )
