"""A store made by somebody else: whatever its records say, nothing outside its folder is read or written."""

import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recombine.cli.app import app
from recombine.errors import RecordError
from recombine.runs.store import Store, folder_of
from tests import mutations
from tests.runs.samples import run

PAYLOAD = b"ssh-ed25519 AAAA attacker"


def crafted(place: Path, name: str, at: str) -> tuple[Store, str]:
    """A store with one run, whose record names one file more; every checksum in it is right."""
    store, made = Store.open(place), run(0)
    store.put(made)
    mark = place / folder_of(made.key) / "record.json"
    content = json.loads(mark.read_text())
    digest = hashlib.sha256(PAYLOAD).hexdigest()
    content["store"]["parts"][name] = {"at": at, "sha256": digest, "size": len(PAYLOAD)}
    mutations.write(mark, mutations.sealed(content))
    return store, made.key


@pytest.mark.parametrize(
    "name", ["../../escaped", "{tmp}/escaped", "a/escaped", "..", ".", ".hidden", "", "a\0b", "C:x"]
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    name = name.format(tmp=tmp_path)
    store, key = crafted(tmp_path / "store", name, "payload.bin")
    (tmp_path / "store" / folder_of(key) / "payload.bin").write_bytes(PAYLOAD)
    out = tmp_path / "deep" / "er" / "out"
    done = CliRunner().invoke(app, ["runs", "show", store.place, key, "--out", str(out)])
    assert isinstance(done.exception, RecordError), done.output
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.rglob("escaped")) == []


@pytest.mark.parametrize("at", ["../../../../secret", "{tmp}/secret", "sub/secret"])
def test_a_place_that_lies_elsewhere_is_not_read(tmp_path: Path, at: str) -> None:
    (tmp_path / "secret").write_bytes(PAYLOAD)
    store, key = crafted(tmp_path / "store", "model.safetensors", at.format(tmp=tmp_path))
    with pytest.raises(RecordError, match="is damaged"):
        store.file(key, "model.safetensors")
