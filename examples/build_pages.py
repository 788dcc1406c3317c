"""Audit the real tables and write a page for each into examples/pages/.

    python examples/build_pages.py [--only NAME]

Needs the data sets (RECOMBINE_DATA, or a folder `shared/data` beside the repository); without them it says so.
"""

import argparse
import sys
from pathlib import Path

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
    return 0


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
