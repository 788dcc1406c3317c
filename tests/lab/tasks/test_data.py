"""Files of data sets: the user's folder, the cache, and the network with all that goes wrong in it."""

import gzip
import hashlib
import io
import socket
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recombine.base.errors import OutputError, SettingError, SourceError
from recombine_lab.tasks import data_files
from recombine_lab.tasks.data_files import ARCHIVE, cifar10, local_or_downloaded, mnist, open_text, parse_idx
from recombine_lab.tasks.digit_images import Pool

NAME = "scan/tasks.txt"
TEXT = b"IN: jump OUT: I_JUMP\nIN: walk OUT: I_WALK\n"


class Site(ThreadingHTTPServer):
    """A server of files; a file in `cut` is announced longer than it is."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut: set[str] = set()
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + (100 if self.path in self.server.cut else 0)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data folder."""
    monkeypatch.delenv("RECOMBINE_DATA", raising=False)
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, an empty cache, and no network."""
    monkeypatch.setattr(data_files, "SITES", {})
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def publish(monkeypatch: pytest.MonkeyPatch, site: str, content: bytes = TEXT, name: str = NAME) -> None:
    known(monkeypatch, {name: content})
    monkeypatch.setattr(data_files, "SITES", {"scan/": (site,)})


def known(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(data_files, "_checksums", lambda: sums)


def left(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


# The network


def test_a_file_is_fetched_once_and_kept(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site.address)
    site.files["/tasks.txt"] = TEXT
    assert open_text(NAME) == ["IN: jump OUT: I_JUMP", "IN: walk OUT: I_WALK"]
    assert open_text(NAME) == ["IN: jump OUT: I_JUMP", "IN: walk OUT: I_WALK"]
    assert site.asked == ["/tasks.txt"]
    assert left(cache) == [cache / NAME]


def test_progress_is_told(site: Site, cache: Path) -> None:
    site.files["/f"] = bytes(10**6)
    told: list[tuple[int, int | None]] = []
    wanted = hashlib.sha256(bytes(10**6)).hexdigest()
    data_files.fetch(f"{site.address}f", cache / "f", wanted=wanted, progress=lambda *news: told.append(news))
    done = [so_far for so_far, _ in told]
    assert done == sorted(done)
    assert told[-1] == (10**6, 10**6)
    assert len(told) > 1


def test_md5_where_the_publisher_gives_only_that(site: Site, cache: Path) -> None:
    site.files["/f"] = b"abc"
    path = data_files.fetch(
        f"{site.address}f", cache / "f", wanted="900150983cd24fb0d6963f7d28e17f72", progress=lambda *_: None
    )
    assert path.read_bytes() == b"abc"


def test_a_cached_file_that_was_damaged_is_fetched_again(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(monkeypatch, site.address)
    site.files["/tasks.txt"] = TEXT
    (cache / "scan").mkdir(parents=True)
    (cache / NAME).write_bytes(b"half")
    assert local_or_downloaded(NAME).read_bytes() == TEXT


def test_the_second_address_serves_when_the_first_fails(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(monkeypatch, site.address)
    monkeypatch.setattr(data_files, "SITES", {"scan/": (f"{site.address}gone/", site.address)})
    site.files["/tasks.txt"] = TEXT
    assert local_or_downloaded(NAME) == cache / NAME
    assert site.asked == ["/gone/tasks.txt", "/tasks.txt"]


def test_a_download_that_is_cut_off_leaves_nothing(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site.address)
    site.files["/tasks.txt"] = TEXT[:10]
    site.cut.add("/tasks.txt")
    with pytest.raises(SourceError, match=r"no 'scan/tasks.txt' on this machine\n.*10 bytes read, 100 more expected"):
        local_or_downloaded(NAME)
    assert left(cache) == []


def test_a_wrong_checksum_leaves_nothing(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site.address)
    site.files["/tasks.txt"] = TEXT[::-1]
    with pytest.raises(SourceError, match="does not match the known hash"):
        local_or_downloaded(NAME)
    assert left(cache) == []


def test_no_network_says_what_to_set(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        # bound, and nobody listens: every connection is refused
        publish(monkeypatch, f"http://127.0.0.1:{port}/")
        with pytest.raises(SourceError, match=r"refused.*\n  instead  set RECOMBINE_DATA to a folder that holds"):
            local_or_downloaded(NAME)
    assert left(cache) == []


def test_not_found_names_the_address(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site.address)
    with pytest.raises(SourceError, match=rf"{site.address}tasks.txt: 404 Client Error"):
        local_or_downloaded(NAME)


def test_an_interrupt_leaves_nothing(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site.address)
    site.files["/tasks.txt"] = TEXT
    staged: list[Path] = []

    def interrupt(_done: int, _total: int | None) -> None:
        staged.extend(left(cache))
        raise KeyboardInterrupt

    @contextmanager
    def shown(_name: str) -> Iterator[data_files.Progress]:
        yield interrupt

    monkeypatch.setattr(data_files, "shown", shown)
    with pytest.raises(KeyboardInterrupt):
        local_or_downloaded(NAME)
    assert len(staged) == 1
    assert staged[0] != cache / NAME
    assert left(cache) == []


def test_a_cache_that_cannot_be_written(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site.address)
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("RECOMBINE_DATA", raising=False)
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="cannot write"):
        local_or_downloaded(NAME)


def test_every_address_is_a_place_of_the_publisher() -> None:
    for name in data_files._checksums():
        assert all(
            address.startswith("http") and address.endswith(Path(name).name) for address in data_files.addresses(name)
        )
    assert data_files.addresses("scan/mcd/tasks_test_mcd1.txt")[0].endswith("generalization/data/tasks_test_mcd1.txt")
    assert data_files.addresses("cogs/cogs.parquet") == ()


def test_the_usual_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RECOMBINE_CACHE", raising=False)
    monkeypatch.setattr(data_files.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_files.cache_folder() == tmp_path / "recombine"
    monkeypatch.setattr(data_files.sys, "platform", "darwin")
    assert data_files.cache_folder().parts[-3:] == ("Library", "Caches", "recombine")


# The user's folder


def test_a_text_may_lie_compressed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, {NAME: TEXT})
    (folder / "scan").mkdir()
    (folder / f"{NAME}.gz").write_bytes(gzip.compress(TEXT))
    assert local_or_downloaded(NAME) == folder / f"{NAME}.gz"
    assert open_text(NAME)[1] == "IN: walk OUT: I_WALK"


@pytest.mark.parametrize(
    "content",
    [gzip.compress(TEXT[::-1]), b"no archive", gzip.compress(TEXT)[:-9]],
    ids=["another text", "no archive", "cut off"],
)
def test_a_local_file_that_is_not_the_published_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    known(monkeypatch, {NAME: TEXT})
    (folder / "scan").mkdir()
    (folder / f"{NAME}.gz").write_bytes(content)
    with pytest.raises(SourceError, match=r"tasks.txt.gz' is not the published file|cannot read"):
        local_or_downloaded(NAME)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(SettingError, match=r"no data file 'scan/task.txt'\n.*\n.*did you mean 'scan/tasks.txt'"):
        local_or_downloaded("scan/task.txt")


def test_a_data_folder_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(SourceError, match="there is no such folder"):
        local_or_downloaded(NAME)


def test_a_file_that_was_never_published(folder: Path) -> None:
    with pytest.raises(SourceError, match="never published at an address of its own"):
        local_or_downloaded("cogs/cogs.parquet")


# Formats


@pytest.mark.parametrize("content", [b"", b"\x00\x00\x08", b"\x00\x00\x08\x01\x00\x00\x00\x03ab", b"\x89PNG12345678"])
def test_bytes_that_are_no_idx_file(content: bytes) -> None:
    with pytest.raises(SourceError, match="is not an idx file"):
        parse_idx(content, "x")


def test_idx_axes() -> None:
    content = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, *range(6)])
    assert parse_idx(content, "x").tolist() == [[[0, 1, 2]], [[3, 4, 5]]]


def test_cifar_is_the_same_from_archive_and_strips(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (60, 3, 32, 32), dtype=np.uint8), np.arange(60) * 7 % 10
    packed = archive(images, labels)
    kept = np.sort(np.argsort(labels, kind="stable").reshape(10, 6)[:, :4].ravel())
    strip = io.BytesIO()
    Image.fromarray(images[kept].transpose(0, 2, 3, 1).reshape(-1, 32, 3)).save(strip, "PNG")
    listed = "index,label\n" + "".join(f"{k},{labels[k]}\n" for k in kept)
    files = {"cifar10/train_10000.png": strip.getvalue(), "cifar10/train_10000_labels.csv": listed.encode()}
    known(monkeypatch, files | {ARCHIVE: packed})
    (folder / "cifar10").mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    strips = Pool.of(*cifar10("train", per_class=4)).first(4)
    with pytest.raises(SourceError, match=r"is not complete on this machine\n.*\n.*per_class=1000"):
        cifar10("train")
    (folder / ARCHIVE).write_bytes(packed)
    whole_images, whole_labels = cifar10("train")
    np.testing.assert_array_equal(whole_images, images)
    np.testing.assert_array_equal(whole_labels, labels)
    full = Pool.of(*cifar10("train", per_class=4)).first(4)
    for c in range(10):
        ours, theirs = (pool.images[pool.starts[c] :][: pool.counts[c]] for pool in (strips, full))
        np.testing.assert_array_equal(ours, theirs)


def archive(images: np.ndarray, labels: np.ndarray) -> bytes:
    """CIFAR-10's own form: five batches of records, a class and three planes each."""
    records = np.concatenate([labels[:, None].astype(np.uint8), images.reshape(len(images), -1)], axis=1)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for number, batch in enumerate(np.split(records, 5), start=1):
            member = tarfile.TarInfo(f"cifar-10-batches-bin/data_batch_{number}.bin")
            member.size = batch.nbytes
            tar.addfile(member, io.BytesIO(batch.tobytes()))
    return packed.getvalue()


def test_an_archive_without_the_batches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = archive(np.zeros((5, 3, 32, 32), np.uint8), np.arange(5))
    known(monkeypatch, {ARCHIVE: packed})
    (folder / "cifar10").mkdir()
    (folder / ARCHIVE).write_bytes(packed)
    with pytest.raises(SourceError, match=r"no 'cifar-10-batches-bin/test_batch\.bin'"):
        cifar10("test")


@pytest.mark.data
def test_mnist_is_the_published_one(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    images, labels = mnist("train")
    assert images.shape == (60_000, 1, 28, 28)
    assert np.bincount(labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert (images.mean() / 255, images.std() / 255) == pytest.approx((0.1307, 0.3081), abs=5e-5)
    _, labels = mnist("test")
    assert np.bincount(labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.mark.data
def test_fashion_and_cifar_are_the_published_ones(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    _, labels = mnist("test", folder="fashion_mnist")
    assert np.bincount(labels).tolist() == [1000] * 10
    images, labels = cifar10("test")
    assert images.shape == (10_000, 3, 32, 32)
    assert np.bincount(labels).tolist() == [1000] * 10
    images, labels = cifar10("train", per_class=1000)
    assert np.bincount(labels).tolist() == [1000] * 10
    assert (images.mean(axis=(0, 2, 3)) / 255).tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=5e-3)


@pytest.mark.data
def test_every_local_file_is_the_published_one(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(data))
    monkeypatch.setenv("RECOMBINE_CACHE", str(tmp_path))
    monkeypatch.setattr(data_files, "SITES", {})
    names = [name for name in data_files._checksums() if name != ARCHIVE]
    assert all(local_or_downloaded(name).is_relative_to(data) for name in names)
    assert len(open_text("scan/tasks.txt")) == 20_910
