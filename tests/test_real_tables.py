"""Real tables: the counts that their publications state, and a page for each that opens without a word of complaint."""

import subprocess
import sys
from pathlib import Path

import pytest

import recombine

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from tables import TABLES

pytestmark = pytest.mark.data


@pytest.mark.browser
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_counts_and_page(table, data, tmp_path) -> None:
    support = recombine.read(data / table.file, **table.question)
    audit = recombine.audit(support)
    assert (support.rows, audit.counts.seen, audit.counts.space) == (table.rows, table.seen, table.space)
    if table.sizes:
        assert support.space.sizes == table.sizes
    page = tmp_path / "page.html"
    audit.page(page)
    assert page.stat().st_size < 6e6
    assert opened_without_errors(page, tmp_path / "profile")


def opened_without_errors(page: Path, profile: Path) -> bool:
    quiet = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
    done = subprocess.run(
        [
            *("chromium", "--headless", *quiet, "--disable-sync", "--no-first-run", f"--user-data-dir={profile}"),
            *("--virtual-time-budget=5000", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return 'data-ready="true"' in done.stdout and 'data-errors=""' in done.stdout


@pytest.mark.parametrize(
    ("name", "seen", "space"), [("mit_states", 1262, 28175), ("ut_zappos", 83, 192), ("cgqa", 5592, 278362)]
)
def test_open_world_pairs_are_one_island_and_all_determined(name, seen, space, data) -> None:
    table = next(table for table in TABLES if table.name == name)
    audit = recombine.audit(recombine.read(data / table.file, **table.question))
    assert audit.island_count == 1
    assert (audit.counts.seen, audit.counts.determined, audit.counts.undetermined) == (seen, space - seen, 0)


def test_waterbirds_groups(data) -> None:
    support = recombine.read(
        data / "factors/waterbirds.parquet", factors=["bird", "background"], where="split = 'train'"
    )
    assert sorted(support.counts.tolist()) == [56, 184, 1057, 3498]


@pytest.mark.slow
def test_scan_jump_is_unseen_or_novel_exactly_where_the_published_test_is(data) -> None:
    table = next(table for table in TABLES if table.name == "scan_jump")
    counts = recombine.audit(recombine.read(data / table.file, **table.question)).counts
    assert counts.determined + counts.undetermined + counts.novel == 7_706
