"""A password in an address is never said: not in an error, on a page, in a record or manifest, nor in a command.

The property at the end builds addresses from random parts; the server is a real PostgreSQL that asks for a password.
"""

import json
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, assume, example, given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import RecombineError, SourceError
from recombine.base.records import Provenance
from recombine.base.redaction import HIDDEN, guarded, redacted, redacted_words, secrets_in
from recombine.cli.app import run
from tests import servers
from tests.properties import examples

SECRET = "hunter2-Zq"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:SECRET@host/db", "postgresql://me:…@host/db"),
        ("postgresql://me@host/db?password=SECRET", "postgresql://me@host/db?password=…"),
        ("postgresql:///db?host=h&password=SECRET&user=me", "postgresql:///db?host=h&password=…&user=me"),
        ("postgresql://me@h/db?pass%77ord=SECRET&sslmode=require", "postgresql://me@h/db?pass%77ord=…&sslmode=require"),
        ("postgresql://me@h/db?sslpassword=SECRET", "postgresql://me@h/db?sslpassword=…"),
        ("postgresql://me%3ASECRET@host/db", "postgresql://me%3A…@host/db"),
        ("postgresql://me:SEC/RET@host/db", "postgresql://me:…@host/db"),
        ("postgresql://me:SEC@RET@host/db", "postgresql://me:…@host/db"),
        ("postgresql://me:SEC?RET#1@host/db", "postgresql://me:…@host/db"),
        ("postgresql://me:12/SECRET@host/db", "postgresql://me:…@host/db"),
        ("postgresql://me@h/db?password=SEC#RET", "postgresql://me@h/db?password=…"),
        ("postgresql://me@h/db?password=SEC&RET", "postgresql://me@h/db?password=…"),
        ("postgresql://me@h/db?password=SEC;x=RET", "postgresql://me@h/db?password=…"),
        ("host=h user=me password=SECRET dbname=db", "host=h user=me password=… dbname=db"),
        ("host=h password='SEC RET' dbname=db", "host=h password=… dbname=db"),
        ("me:SECRET@host/db", "me:…@host/db"),
        ("md:db?motherduck_token=SECRET", "md:db?motherduck_token=…"),
        ("jdbc:sqlserver://host;user=me;password=SECRET;x=1", "jdbc:sqlserver://host;user=me;password=…;x=1"),
        ("https://me:SECRET@host:8080/t.csv", "https://…@host:8080/t.csv"),
        ("https://SECRET@host/t.csv", "https://…@host/t.csv"),
        ("https://SECRET:x-oauth-basic@host/t.csv", "https://…@host/t.csv"),
        ("https://host/t.csv?token=SECRET", "https://host/t.csv?token=…"),
        ("https://host/t.csv#access_token=SECRET&x=1", "https://host/t.csv#access_token=…&x=1"),
        ("https://b.blob.core.windows.net/t.parquet?sv=1&sig=SECRET", "https://b.blob.core.windows.net/t.parquet?sv=1&sig=…"),
        ("s3://AKIA:SECRET@bucket/runs", "s3://AKIA:…@bucket/runs"),
        ("s3://bucket/t.parquet?s3_secret_access_key=SECRET", "s3://bucket/t.parquet?s3_secret_access_key=…"),
        ("https://b.s3.amazonaws.com/t?X-Amz-Credential=SECRET&X-Amz-Date=1", "https://b.s3.amazonaws.com/t?X-Amz-Credential=…&X-Amz-Date=1"),
        ("gs://b/t.csv?X-Goog-Signature=SECRET", "gs://b/t.csv?X-Goog-Signature=…"),
        ("az://c/t?connection_string=AccountName=a;AccountKey=SECRET==", "az://c/t?connection_string=AccountName=a;AccountKey=…"),
        ("hf://SECRET@datasets/a/b/t.csv", "hf://…@datasets/a/b/t.csv"),
        ("ray://SECRET@head:10001", "ray://…@head:10001"),
        ("simplecache::https://me:SECRET@host/t.csv", "simplecache::https://…@host/t.csv"),
        ("https://host/?proxy=http://me:SECRET@proxy", "https://host/?proxy=http://…@proxy"),
        ("https://host/?proxy=http%3A%2F%2Fme%3ASECRET%40proxy&x=1", "https://host/?proxy=…&x=1"),
    ],
)  # fmt: skip
def test_a_secret_is_hidden_wherever_it_stands(address: str, shown: str) -> None:
    assert redacted(address) == shown
    assert redacted(shown) == shown
    assert not any(part in redacted(address) for part in ("SEC", "RET"))
    assert f"cannot open '{redacted(address)}' now" == f"cannot open '{shown}' now"


@pytest.mark.parametrize(
    "address",
    [
        "table.csv",
        "data/key=3/token=*/part-?.parquet",
        r"C:\data\a@b.csv",
        "mail: a@b.csv",
        "s3://bucket/key=3/a@b.csv",
        "https://host:8080/a@b.csv?page=2#top",
        "abfss://container@account.dfs.core.windows.net/t.parquet",
        "hf://datasets/a/b@main/t.parquet",
        "postgresql://me@host:5432/db?sslmode=require",
        "postgresql:///db?host=/var/run",
        "--domain",
        "key=a,b",
        "token = 'x' AND user = 'me'",
        "user=a,password=b",
    ],
)
def test_what_is_not_secret_stays(address: str) -> None:
    assert redacted(address) == redacted_words(address) == address
    assert secrets_in(address) == frozenset()


def test_an_address_of_thousands_of_addresses_takes_no_time() -> None:
    assert redacted("a://me:x@" * 20_000) == "a://…"
    assert redacted("a://h/?" + "&token=x" * 5_000).count(HIDDEN) == 5_000


def test_an_address_in_a_sentence() -> None:
    said = 'IO Error: "https://me:SECRET@h/t.csv?x=(1)" (HTTP 0), or postgresql://me:SECRET@h/db again'
    assert redacted_words(said) == 'IO Error: "https://…@h/t.csv?x=(1)" (HTTP 0), or postgresql://me:…@h/db again'


def test_every_error_and_every_provenance_is_redacted_by_itself() -> None:
    address = f"postgresql://me:{SECRET}@h/db"
    error = SourceError(f"cannot open {address!r}", why=f"{address} says no", instead=f"try {address}")
    assert SECRET not in f"{error}{error.args}{error!r}"
    where = Provenance(source=f"{address} t", settings={"train": [address]}, command=f"recombine audit {address}")
    assert SECRET not in repr(where)


def test_an_engines_own_words_lose_the_secrets_of_what_is_open() -> None:
    with guarded("postgresql://me:pa%24s%2Fword@h/db"):
        why = SourceError("x", why="role 'me', pa$s/word, pa%24s%2Fword, port 'word' and a keyword", instead="").why
    assert why == "role 'me', …, …, port '…' and a keyword"
    assert SourceError("x", why="pa$s/word", instead="").why == "pa$s/word"  # nothing is open


def test_a_short_secret_is_taken_out_as_a_word() -> None:
    with guarded("postgresql://me:a@h/db"):
        assert SourceError("x", why="password 'a' failed at a gate", instead="").why == "password '…' failed at … gate"


def test_what_an_error_came_from_is_not_shown_where_it_says_a_secret() -> None:
    def failing() -> None:
        with guarded(f"postgresql://me:{SECRET}@h/db"):
            try:
                raise ValueError(f"cannot use {SECRET!r}")
            except ValueError as error:
                raise SourceError("no", why=str(error), instead="") from error

    with pytest.raises(SourceError) as caught:
        failing()
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def verbs(address: str, table: str | None, folder: Path) -> list[list[str]]:
    """Every verb on one source, with all that it can write."""
    ask = [address, "--factors", "material,garment", *(["--table", table] if table else [])]
    return [
        ["audit", *ask, "--target", "label", "--out", f"{folder}/audit", "--report", f"{folder}/audit.html"],
        ["audit", *ask, "--json"],
        ["audit", *ask[:-2], "--table", "nowhere"] if table else ["audit", *ask, "--where", "1 = 1"],
        ["audit", *ask, "--where", "no such thing"],
        ["predict", *ask, "--target", "label", "--out", f"{folder}/predict", "--report", f"{folder}/predict.html"],
        ["plan", *ask, "--budget", "2", "--out", f"{folder}/plan", "--report", f"{folder}/plan.html"],
        ["split", *ask, "--out", f"{folder}/held.parquet"],
        ["split", *ask, "--out", f"{folder}/held.csv", "--json"],
        ["lint", *ask, "--split", "garment", "--train-side", "hat", "--test-side", "coat", "--out", f"{folder}/lint"],
        ["lint", *ask, "--split", "garment", "--train-side", "hat", "--test-side", "coat", "--json"],
        ["lint", "--train", address, "--test", address, "--factors", "material,garment"],
        ["evaluate", *ask, "--target", "label", "--prediction", "said", "--split", "side",
         "--out", f"{folder}/evaluate", "--report", f"{folder}/evaluate.html"],
        ["evaluate", *ask, "--target", "label", "--prediction", "said", "--train", address, "--json"],
        ["audit", *ask, "one word too many"],
        ["audit", *ask, "--no-such-option", address],
        ["audit", *ask, "--seed", address],
        [address],
    ]  # fmt: skip


def told(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[str, int]:
    """What a command says, as a process would, and how it ends."""
    monkeypatch.setattr(sys, "argv", ["recombine", *words])
    with pytest.raises(SystemExit) as end:
        run()
    out, err = capsys.readouterr()
    return out + err, int(end.value.code or 0)


def written(folder: Path) -> str:
    """Everything in the files of a folder, texts and tables alike."""
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


def assert_unsaid(secret: str, said: str) -> None:
    forms = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    assert not [form for form in forms if form in said], said


@pytest.fixture(scope="module")
def locked(postgres: servers.Postgres) -> servers.Postgres:
    """The server with a table, and a role that must tell its password."""
    psycopg = pytest.importorskip("psycopg")
    hba = postgres.folder / "data" / "pg_hba.conf"
    hba.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
    with psycopg.connect(postgres.uri, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS wardrobe (material text, garment text, label text, said text, side text)"
        )
        for row in TABLE:
            connection.execute("INSERT INTO wardrobe VALUES (%s, %s, %s, %s, %s)", row)
        connection.execute("CREATE ROLE locked LOGIN")
        connection.execute("GRANT SELECT ON wardrobe TO locked")
        connection.execute("SELECT pg_reload_conf()")
    return postgres


TABLE = [
    (material, garment, label, said, side)
    for material, garment, label, said, side in (
        ("wool", "coat", "warm", "warm", "train"),
        ("wool", "hat", "warm", "light", "train"),
        ("silk", "hat", "light", "light", "train"),
        ("silk", "coat", "light", "light", "test"),
        ("denim", "coat", "warm", "warm", "train"),
        ("denim", "scarf", "light", "light", "test"),
        ("linen", "scarf", "light", "light", "train"),
        ("linen", "hat", "light", "light", "test"),
        ("wool", "scarf", "warm", "warm", "test"),
    )
    for _ in range(3)
]


def set_password(server: servers.Postgres, secret: str) -> None:
    import psycopg  # noqa: PLC0415 - an optional engine
    from psycopg import sql  # noqa: PLC0415

    with psycopg.connect(server.uri, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER ROLE locked PASSWORD {}").format(sql.Literal(secret)))


@pytest.mark.parametrize(
    "form", ["postgresql://locked:{}@{}/postgres", "postgresql://locked@{1}/postgres?password={0}"]
)
def test_a_real_database_with_a_password(locked, tmp_path, monkeypatch, capsys, form: str) -> None:
    set_password(locked, SECRET)
    address = form.format(SECRET, f"127.0.0.1:{locked.port}")
    codes = []
    for words in verbs(address, "wardrobe", tmp_path):
        said, code = told(words, monkeypatch, capsys)
        codes.append(code)
        assert_unsaid(SECRET, said)
    assert codes[:2] == [0, 0]  # it was let in
    assert "postgresql://locked" in written(tmp_path)
    assert HIDDEN in (tmp_path / "held.split.json").read_text(encoding="utf-8")
    assert_unsaid(SECRET, written(tmp_path))


def test_a_database_that_refuses_the_password(locked, tmp_path, monkeypatch, capsys) -> None:
    set_password(locked, "another")
    for address in (f"postgresql://locked@127.0.0.1:{locked.port}/postgres?password={SECRET}",
                    f"postgresql://locked:{SECRET}@127.0.0.1:{locked.port}/postgres"):  # fmt: skip
        said, code = told(["audit", address, "--table", "wardrobe", "-f", "material,garment"], monkeypatch, capsys)
        assert code == 2
        assert "password authentication failed" in said
        assert_unsaid(SECRET, said)


CLOSED = "127.0.0.1:1"
# What people put into addresses, behind a beginning that no sentence holds by chance.
SECRETS = st.text(st.sampled_from("aZ09-_.~!$'()*+,;:@/?#%& é\"\\"), min_size=3, max_size=12).map("Zq9{}x".format)
SERVERS = (
    "postgresql://me:{}@CLOSED/db",
    "postgresql://me@CLOSED/db?password={}",
    "postgresql:///db?host=127.0.0.1&port=1&user=me&pass%77ord={}&sslmode=disable",
    "postgresql://me@CLOSED/db?sslpassword={}&sslmode=disable",
    "mysql://me:{}@CLOSED/db",
    "nosuch://me:{}@CLOSED/db",
    "me:{}@CLOSED/t.csv",
    "https://CLOSED/t.csv?token={}",  # an ending that tells nothing, which is said before anybody is asked
)
FILES = (
    "https://me:{}@CLOSED/t.csv",
    "https://{}@CLOSED/t.parquet",
    "https://CLOSED/t?x=1&X-Amz-Signature={}#.csv",
    "https://CLOSED/#access_token={}",
    "s3://key:{}@bucket/t.parquet",
    "hf://{}@datasets/a/b/t.csv",
    "ray://{}@CLOSED",
    "host=127.0.0.1 port=1 password={}",
)


def _address(place: str, secret: str, *, escaped: bool) -> str:
    return place.replace("CLOSED", CLOSED).format(quote(secret, safe="") if escaped else secret)


def _ambiguous(place: str, secret: str) -> bool:
    """Unescaped, what stands behind an & may be another parameter, and what stands behind a space another setting;
    and a token with a slash in it is a host and a path."""
    parameter, setting, token, bare = "={" in place, place.startswith("host="), "://{" in place, "://" not in place
    marks = ("&" * parameter) + (" '\"" * setting) + ("/?#" * token)
    return any(mark in secret for mark in marks) or (bare and "://" in secret)


@examples(500)
@given(SECRETS, st.sampled_from(SERVERS + FILES), st.booleans())
def test_whatever_is_secret_is_hidden(secret: str, place: str, escaped: bool) -> None:
    assume(escaped or not _ambiguous(place, secret))
    address = _address(place, secret, escaped=escaped)
    shown = redacted(address)
    assert redacted(shown) == shown
    assert_unsaid(secret, shown)
    with guarded(address):
        quoting = SourceError(address, why=f"bad password {secret!r} in {address!r}", instead=f"mend {secret}, perhaps")
    assert_unsaid(secret, str(quoting))


@pytest.mark.slow
@examples(20)
@example("pa/ss:wo@rd", SERVERS[0], False)
@example("Zq9%41%42%43", SERVERS[1], False)
@given(SECRETS, st.sampled_from(SERVERS), st.booleans())
def test_whatever_is_secret_is_in_no_error_of_any_verb(secret: str, place: str, escaped: bool) -> None:
    assume(escaped or not _ambiguous(place, secret))
    for error in _errors(_address(place, secret, escaped=escaped)):
        assert_unsaid(secret, "".join(traceback.format_exception(error)))


def _errors(address: str) -> list[RecombineError]:
    """What each verb that opens a source says when it cannot."""
    asked = {"factors": ["a", "b"]}
    splitter = recombine.HoldOutCombinations(["a", "b"])
    calls = (
        lambda: recombine.read(address, table="t", **asked),
        lambda: recombine.read(address, **asked),
        lambda: recombine.split(address, by=splitter, out="never.parquet"),
        lambda: recombine.lint(train=address, test="nowhere.csv", **asked),
        lambda: recombine.evaluate(address, target="y", prediction="said", train=address, **asked),
    )
    found = []
    for call in calls:
        with pytest.raises(RecombineError) as caught:
            call()
        found.append(caught.value)
    return found


@examples(4, suppress_health_check=list(HealthCheck))
@given(secret=SECRETS, in_login=st.booleans())
def test_whatever_the_password_it_is_in_nothing_that_is_written(
    locked, tmp_path_factory, monkeypatch, capsys, secret: str, in_login: bool
) -> None:
    set_password(locked, secret)
    host, encoded, folder = f"127.0.0.1:{locked.port}", quote(secret, safe=""), tmp_path_factory.mktemp("written")
    address = f"postgresql://locked:{encoded}@{host}/postgres"
    if not in_login:
        address = f"postgresql://locked@{host}/postgres?password={encoded}"
    said = ""
    for words in verbs(address, "wardrobe", folder)[:7]:
        more, code = told(words, monkeypatch, capsys)
        said += more
        assert code == 0 or "nowhere" in words or "no such thing" in words, more
    assert_unsaid(secret, said + written(folder))


@pytest.mark.slow
def test_a_run_store_says_no_key(monkeypatch, capsys) -> None:
    pytest.importorskip("s3fs")
    from recombine_lab.runs.storage import ObjectStorage  # noqa: PLC0415 - fsspec is optional

    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{CLOSED}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    place = f"s3://key:{SECRET}@bucket/runs"
    files = ObjectStorage.at(place, {"config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 1}})
    assert SECRET not in f"{files!r} {files.title}"
    assert files.address == place
    for call in (lambda: files.read("store.json"), lambda: files.write("store.json", b""), files.root_names):
        with pytest.raises(OSError) as caught:  # noqa: PT011 - its words are looked at
            call()
        assert SECRET not in str(caught.value)
    for words in (["list", place], ["list", place, "--json"], ["show", place, "0"], ["compare", place]):
        said, code = told(["runs", *words], monkeypatch, capsys)
        assert code == 2
        assert_unsaid(SECRET, said)


def test_a_store_that_fsspec_does_not_know_says_no_key() -> None:
    from recombine_lab.runs.store import Store  # noqa: PLC0415

    pytest.importorskip("fsspec")
    with pytest.raises(RecombineError) as caught:
        Store.open(f"nosuch://key:{SECRET}@bucket/runs?token={SECRET}")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_workers_words_about_its_store_say_no_key() -> None:
    worker = pytest.importorskip("recombine_lab.sweeps.worker")
    with guarded(f"s3://key:{SECRET}@bucket/runs"):
        assert worker._describe(ValueError(f"bad key {SECRET}")).startswith("ValueError: bad key …")


def test_a_tracker_that_fails_is_told_of_without_its_password(monkeypatch) -> None:
    from recombine_lab.runs import tracking  # noqa: PLC0415

    uri = f"https://me:{SECRET}@{CLOSED}"
    with warnings.catch_warnings(record=True) as told_of:
        warnings.simplefilter("always")
        tracking._give_up(uri, RuntimeError(f"API request to {uri}/api failed: login me {SECRET}"))
    assert "https://…@" in str(told_of[0].message)
    assert SECRET not in str(told_of[0].message)


def test_an_address_of_ray_says_no_token() -> None:
    cluster = pytest.importorskip("recombine_lab.sweeps.ray_pool")
    with pytest.raises(SourceError) as caught:
        cluster._knock(f"ray://{SECRET}@{CLOSED}")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.process
def test_the_command_as_a_process_says_no_password(tmp_path) -> None:
    for address in (f"https://me:{SECRET}@{CLOSED}/t.csv", f"postgresql://me@{CLOSED}/db?password={SECRET}"):
        done = subprocess.run(
            [sys.executable, "-c", "from recombine.cli import main; main()", "audit", address, "-f", "a,b"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 2
        assert HIDDEN in done.stderr
        assert SECRET not in done.stdout + done.stderr
