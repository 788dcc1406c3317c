"""Audit the real tables, predict, plan and evaluate two of them each, and write the pages into examples/pages/.

    python examples/build_pages.py [--only NAME]

Needs the data sets (RECOMBINE_DATA, or a folder `shared/data` beside the repository); without them it says so.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import recombine
from tables import TABLES, Table, data_folder

PAGES = Path(__file__).parent / "pages"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[table.name for table in TABLES])
    asked = parser.parse_args().only
    folder = data_folder()
    if folder is None:
        print("skipped: the data sets are not here; set RECOMBINE_DATA to their folder")
        return 0
    PAGES.mkdir(exist_ok=True)
    for table in TABLES:
        if asked in (None, table.name):
            build(table, folder)
    for kind, made in KINDS.items():
        for name, make in made.items():
            if asked in (None, name):
                write(f"{name}_{kind}", make(folder))
    return 0


def write(name: str, result: recombine.Result) -> None:
    """The page of a result."""
    page = result.page(PAGES / f"{name}.html")
    print(f"{name}\n  {result.verdict}\n  {page.name}, {page.stat().st_size / 1e6:.2f} MB\n")


def image_counts(folder: Path) -> recombine.Prediction:
    """MIT-States: how many images a pair would have, as a logarithm."""
    images = pq.read_table(folder / "factors/mit_states_images.parquet", columns=["attr", "obj"])
    counted = images.group_by(["attr", "obj"]).aggregate([([], "count_all")])
    table = counted.append_column("log_images", pc.log10(pc.cast(counted["count_all"], "float64")))
    support = recombine.read(table, factors=["attr", "obj"], target="log_images")
    return recombine.predict(support, salience="fit", backtest=True)


def attractive(folder: Path) -> recombine.Prediction:
    """CelebA: the share called attractive, from eight attributes; the truth is what the other two parts say."""
    faces = table_of("celeba")
    source, question = folder / faces.file, faces.question | {"target_kind": "number"}
    support = recombine.read(source, **question)
    truth = recombine.read(source, **question | {"where": "split <> 'train'"})
    return recombine.predict(support, salience="fit", truth=truth, backtest=True)


def shoes_to_collect(folder: Path) -> recombine.Plan:
    """UT-Zappos: twelve more pairs, with the plan replayed on the pairs that are there."""
    table = table_of("ut_zappos")
    support = recombine.read(folder / table.file, **table.question)
    return recombine.plan(support, goal="leverage", budget=12, replay=True)


def pairs_to_collect(folder: Path) -> recombine.Plan:
    """MIT-States: what it takes until no pair hangs on less than one example."""
    table = table_of("mit_states")
    return recombine.plan(recombine.read(folder / table.file, **table.question), goal="leverage")


def leaning_on_the_background(folder: Path) -> recombine.Evaluation:
    """Waterbirds: made-up answers that often follow the background, against some that seldom do."""
    birds = pq.read_table(folder / "factors/waterbirds.parquet")
    truth, rng = birds["bird"].to_numpy(zero_copy_only=False), np.random.default_rng(0)
    place = np.where(birds["background"].to_numpy(zero_copy_only=False) == "water", "waterbird", "landbird")
    other = np.where(truth == "waterbird", "landbird", "waterbird")
    for name, lean in (("leaning", 0.5), ("robust", 0.1)):
        slips, leans = rng.random(len(truth)) < 0.05, rng.random(len(truth)) < lean
        birds = birds.append_column(name, pa.array(np.where(leans, place, np.where(slips, other, truth))))
    question: dict[str, Any] = {"factors": ["species", "background_scene"], "target": "bird", "split": "split"}
    return recombine.evaluate(birds, prediction="leaning", against="robust", **question)


def sum_of_means(folder: Path) -> recombine.Evaluation:
    """MIT-States: how many images a pair has, guessed from its two values alone, beside what theory expected."""
    images = pq.read_table(folder / "factors/mit_states_images.parquet", columns=["attr", "obj"])
    counted = images.group_by(["attr", "obj"]).aggregate([([], "count_all")]).sort_by("attr")
    truth = np.log10(counted["count_all"].to_numpy())
    trained = np.random.default_rng(0).random(len(truth)) < 0.8
    guess = np.full(len(truth), truth[trained].mean())
    for name in ("attr", "obj"):
        codes = counted[name].combine_chunks().dictionary_encode().indices.to_numpy()
        rest = np.where(trained, truth - guess, 0.0)
        guess = guess + (np.bincount(codes, rest) / (np.bincount(codes, trained) + 1.0))[codes]
    columns = {"log_images": truth, "guess": guess, "part": np.where(trained, "train", "test")}
    table = pa.table({"attr": counted["attr"], "obj": counted["obj"], **columns})
    support = recombine.read(table.filter(pa.array(trained)), factors=["attr", "obj"], target="log_images")
    question: dict[str, Any] = {"factors": ["attr", "obj"], "target": "log_images", "prediction": "guess"}
    return recombine.evaluate(table, split="part", theory=recombine.predict(support, salience="fit"), **question)


def table_of(name: str) -> Table:
    """One of the real tables by its name."""
    return next(table for table in TABLES if table.name == name)


KINDS: dict[str, dict[str, Callable[[Path], recombine.Result]]] = {
    "prediction": {"mit_states": image_counts, "celeba": attractive},
    "plan": {"ut_zappos": shoes_to_collect, "mit_states": pairs_to_collect},
    "evaluation": {"waterbirds": leaning_on_the_background, "mit_states": sum_of_means},
}


def build(table: Table, folder: Path) -> None:
    """One table: read, audit, check what is known of it, draw."""
    support = recombine.read(folder / table.file, **table.question)
    audit = recombine.audit(support)
    found = (support.rows, audit.counts.seen, audit.counts.space)
    expected = (table.rows, table.seen, table.space)
    if found != expected:
        sys.exit(f"{table.name}: rows, seen and space are {found}, expected {expected}")
    write(table.name, audit)


if __name__ == "__main__":
    sys.exit(main())
