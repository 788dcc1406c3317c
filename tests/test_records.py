"""Saving and loading: whole or not at all, and nothing foreign, damaged or tampered with is taken for a result."""

import json
import os
import subprocess
import sys
import time
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from typing_extensions import TypeAliasType

from recombine.base import records
from recombine.base.decoding import revive
from recombine.base.errors import OutputError, RecordError
from recombine.base.files import write_text
from recombine.base.records import Provenance, Record


def a_record(**data) -> Record:
    return Record("audit", data, {"numbers": pa.table({"x": [1, 2, 3]})}, Provenance(source="shoes.csv"))


def test_a_record_comes_back_as_it_was(tmp_path) -> None:
    record = a_record(verdict="fine", big=10**30)
    records.save(record, tmp_path / "out")
    loaded = records.load(tmp_path / "out", "audit")
    assert loaded == record


def test_a_saved_result_can_be_replaced_by_another_if_asked(tmp_path) -> None:
    records.save(a_record(verdict="one"), tmp_path / "out")
    with pytest.raises(OutputError, match="already exists") as caught:
        records.save(a_record(verdict="two"), tmp_path / "out")
    assert "force=True" in caught.value.instead
    assert records.load(tmp_path / "out", "audit").data["verdict"] == "one"
    records.save(a_record(verdict="two"), tmp_path / "out", force=True)
    assert records.load(tmp_path / "out", "audit").data["verdict"] == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_result_that_is_replaced_while_it_is_read_is_not_damaged(tmp_path, monkeypatch) -> None:
    records.save(a_record(verdict="one"), tmp_path / "out")
    read_table = records._read_table

    def replaced_meanwhile(*given):
        if records.kind_of(tmp_path / "out") and replacing:
            replacement = Record("audit", {"verdict": "two"}, {"numbers": pa.table({"x": [4]})}, Provenance(source="s"))
            records.save(replacement, replacing.pop(), force=True)
        return read_table(*given)

    replacing = [tmp_path / "out"]
    monkeypatch.setattr(records, "_read_table", replaced_meanwhile)
    assert records.load(tmp_path / "out", "audit").data["verdict"] == "two"


_REPLACES = """
import sys
import pyarrow as pa
from recombine.base import records
from recombine.base.records import Provenance, Record

print("up", flush=True)
for number in range(10**6):
    tables = {"numbers": pa.table({"x": [number] * 3})}
    record = Record("audit", {"verdict": str(number)}, tables, Provenance(source="s"))
    records.save(record, sys.argv[1], force=True)
"""


@pytest.mark.process
def test_a_reader_beside_a_writer_finds_one_result_or_the_next(tmp_path) -> None:
    records.save(a_record(verdict="first"), tmp_path / "out")
    writer = subprocess.Popen([sys.executable, "-c", _REPLACES, str(tmp_path / "out")], stdout=subprocess.PIPE)
    try:
        writer.stdout.readline()
        seen, until = set(), time.monotonic() + 60
        while len(seen) < 60 and time.monotonic() < until:
            assert records.kind_of(tmp_path / "out") == "audit"
            found = records.load(tmp_path / "out", "audit")
            seen.add(found.data["verdict"])
            assert found.data["verdict"] in ("first", str(found.tables["numbers"]["x"][0]))
    finally:
        writer.kill()
        writer.wait()
    assert len(seen) == 60


def test_a_folder_of_somebody_else_is_never_replaced(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("my life's work")
    with pytest.raises(OutputError, match="already exists and is not a saved result"):
        records.save(a_record(), tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_nothing_is_left_behind_when_writing_fails(tmp_path) -> None:
    broken = Record("audit", {"x": object()}, {}, Provenance(source="shoes.csv"))
    with pytest.raises(TypeError, match="not JSON serializable"):
        records.save(broken, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "record.json").unlink(), "holds no record.json"),
        (lambda folder: (folder / "record.json").write_text("{"), "is damaged"),
        (lambda folder: (folder / "record.json").write_text("[]"), "is damaged"),
        (lambda folder: (folder / "numbers.parquet").unlink(), "is damaged"),
        (lambda folder: (folder / "numbers.parquet").write_bytes(b"PAR1"), "is damaged"),
        (lambda folder: edit(folder, kind="plan"), "is not an audit"),
        (lambda folder: edit(folder, format=1), "an audit of an older version"),
        (lambda folder: edit(folder, format=99), "an audit of a newer version"),
        (lambda folder: edit(folder, verdict="fine"), "changed after it was written"),
    ],
)
def test_what_is_damaged_or_strange_is_refused(tmp_path, damage, message: str) -> None:
    folder = records.save(a_record(), tmp_path / "out")
    damage(folder)
    with pytest.raises(RecordError, match=message):
        records.load(folder, "audit")


def edit(folder, **changes) -> None:
    content = json.loads((folder / "record.json").read_text())
    (folder / "record.json").write_text(json.dumps(content | changes))


def test_a_table_changed_after_saving_is_noticed(tmp_path) -> None:
    folder = records.save(a_record(), tmp_path / "out")
    other = records.save(Record("audit", {}, {"numbers": pa.table({"x": [9]})}, Provenance(source="x")), tmp_path / "b")
    (other / "numbers.parquet").replace(folder / "numbers.parquet")
    with pytest.raises(RecordError, match="checksum"):
        records.load(folder, "audit")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    for write in (lambda path: records.save(a_record(), path), lambda path: write_text(path, "x")):
        with pytest.raises(OutputError, match="cannot write"):
            write(tmp_path / "file" / "out")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can step down to a user without rights")
def test_a_read_only_folder_is_named(tmp_path) -> None:
    tmp_path.chmod(0o555)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and str(parent).startswith(str(tmp_path.parents[2])):
            parent.chmod(0o755)
    code = (
        "import os, sys; os.setgid(65534); os.setuid(65534)\n"
        "from recombine.base.files import write_text\nfrom recombine.base.errors import OutputError\n"
        f"try: write_text({str(tmp_path / 'page.html')!r}, 'x')\n"
        "except OutputError as error: print(error)\n"
    )
    # what is imported must be loaded before the rights are gone
    code = "import recombine.base.files\n" + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "cannot write" in done.stdout, done.stderr
    assert "Permission denied" in done.stdout


def test_a_type_by_another_name_is_read_as_what_it_stands_for() -> None:
    """NumPy 2.5, which needs Python 3.12, declares `NDArray` in this way: no saved audit could be read there."""
    of = TypeVar("of")
    alias = TypeAliasType("alias", np.ndarray[Any, np.dtype[of]], type_params=(of,))
    counts = revive(alias[np.int64], [1, 2])
    assert counts.dtype == np.int64
    assert counts.tolist() == [1, 2]
