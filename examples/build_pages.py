"""Audit the real tables, predict two of them, and write a page for each into examples/pages/.

    python examples/build_pages.py [--only NAME]

Needs the data sets (RECOMBINE_DATA, or a folder `shared/data` beside the repository); without them it says so.
"""

import argparse
import sys
from pathlib import Path

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
    for name, predicted in PREDICTIONS.items():
        if asked in (None, name):
            write(f"{name}_prediction", predicted(folder))
    return 0


def write(name: str, prediction: recombine.Prediction) -> None:
    """A prediction's page."""
    page = PAGES / f"{name}.html"
    page.write_text(recombine.prediction_page(prediction.record()), encoding="utf-8")
    print(f"{name}\n  {prediction.verdict}\n  {page.name}, {page.stat().st_size / 1e6:.2f} MB\n")


def image_counts(folder: Path) -> recombine.Prediction:
    """MIT-States: how many images a pair would have, as a logarithm."""
    images = pq.read_table(folder / "factors/mit_states_images.parquet", columns=["attr", "obj"])
    counted = images.group_by(["attr", "obj"]).aggregate([([], "count_all")])
    table = counted.append_column("log_images", pc.log10(pc.cast(counted["count_all"], "float64")))
    support = recombine.read(table, factors=["attr", "obj"], target="log_images")
    return recombine.predict(support, salience="fit", backtest=True)


def attractive(folder: Path) -> recombine.Prediction:
    """CelebA: the share called attractive, from eight attributes; the truth is what the other two parts say."""
    (faces,) = (table for table in TABLES if table.name == "celeba")
    source, question = folder / faces.file, faces.question | {"target_kind": "number"}
    support = recombine.read(source, **question)
    truth = recombine.read(source, **question | {"where": "split <> 'train'"})
    return recombine.predict(support, salience="fit", truth=truth, backtest=True)


PREDICTIONS = {"mit_states": image_counts, "celeba": attractive}


def build(table: Table, folder: Path) -> None:
    """One table: read, audit, check what is known of it, draw."""
    support = recombine.read(folder / table.file, **table.question)
    audit = recombine.audit(support)
    found = (support.rows, audit.counts.seen, audit.counts.space)
    expected = (table.rows, table.seen, table.space)
    if found != expected:
        sys.exit(f"{table.name}: rows, seen and space are {found}, expected {expected}")
    page = PAGES / f"{table.name}.html"
    page.write_text(recombine.audit_page(audit.record()), encoding="utf-8")
    print(f"{table.title}\n  {audit.verdict}\n  {page.name}, {page.stat().st_size / 1e6:.2f} MB\n")


if __name__ == "__main__":
    sys.exit(main())
