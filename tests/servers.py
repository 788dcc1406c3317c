"""Real engines, started for the tests and gone after them: PostgreSQL, Spark, an S3 server (moto), MLflow."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
logging_collector = off
log_statement = all
log_line_prefix = '%p '
shared_preload_libraries = 'pg_stat_statements,auto_explain'
pg_stat_statements.track = all
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
fsync = off
full_page_writes = off
synchronous_commit = off
shared_buffers = 32MB
max_connections = 20
"""


class AbsentError(Exception):
    """An engine that is not installed here."""


@dataclass(frozen=True)
class Postgres:
    """A running server: how to reach it, and what it wrote about its work."""

    port: int
    folder: Path

    @property
    def uri(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server of its own, in a temporary folder, on a free port of this machine alone."""
    binaries = _postgres_binaries()
    folder = Path(tempfile.mkdtemp(prefix="recombine-postgres-"))
    as_owner = _as_owner(folder)
    server = Postgres(free_port(), folder)
    try:
        _run([*as_owner, str(binaries / "initdb"), "-D", str(folder / "data"), "-U", "postgres",
              "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"], folder)  # fmt: skip
        settings = _SETTINGS.format(port=server.port, folder=folder)
        with (folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write(settings)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*as_owner, str(binaries / "postgres"), "-D", str(folder / "data")],
                stdout=log,
                stderr=log,
                cwd=folder,
            )
        try:
            _wait_until_up(binaries, server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.send_signal(2)  # a connection is still open: do not wait for it
                process.wait(timeout=20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _postgres_binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise AbsentError(
            "PostgreSQL is not installed: apt-get install postgresql (looked in /usr/lib/postgresql/*/bin)"
        )
    return found[-1].parent


def _as_owner(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root, so root lends the folder to the user that Debian made for it."""
    if os.geteuid() != 0:
        return []
    import pwd  # noqa: PLC0415 - Windows has none, and collects the tests all the same

    try:
        owner = pwd.getpwnam("postgres")
    except KeyError:
        raise AbsentError("running as root, and there is no user 'postgres' to run PostgreSQL as") from None
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    folder.chmod(0o755)
    return ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode:
        raise RuntimeError(f"{command} failed:\n{done.stdout}\n{done.stderr}")


def _wait_until_up(binaries: Path, server: Postgres, process: "subprocess.Popen[bytes]") -> None:
    ask = [str(binaries / "pg_isready"), "-h", "127.0.0.1", "-p", str(server.port), "-q"]
    for _ in range(300):
        if process.poll() is not None:
            break
        if subprocess.run(ask, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise RuntimeError(f"PostgreSQL did not start:\n{server.log}")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True)
class Spark:
    """A local session, and the folder in which it tells of its work."""

    session: Any
    events: Path


@contextmanager
def spark() -> Iterator[Spark]:
    """Spark with two workers in processes of their own, which writes an event log."""
    if shutil.which("java") is None:
        raise AbsentError("Spark needs Java: apt-get install openjdk-17-jre-headless")
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional engine, slow to load
    except ImportError:
        raise AbsentError("pip install pyspark") from None
    folder = Path(tempfile.mkdtemp(prefix="recombine-spark-"))
    (folder / "events").mkdir()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("recombine tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield Spark(session, folder / "events")
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class S3:
    """A running S3 server: where it is, and how to be let in. It holds one bucket."""

    url: str
    bucket: str = "runs"

    @property
    def options(self) -> dict[str, Any]:
        """What fsspec needs to reach it."""
        return {
            "key": "test",
            "secret": "test",
            "client_kwargs": {"endpoint_url": self.url, "region_name": "us-east-1"},
        }

    @property
    def environment(self) -> dict[str, str]:
        """The same for a command."""
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.url,
        }


@contextmanager
def s3() -> Iterator[S3]:
    """An S3 server of its own (moto's), on a free port of this machine alone."""
    try:
        import moto.server  # noqa: F401, PLC0415 - optional
        import s3fs  # noqa: F401, PLC0415
    except ImportError as error:
        raise AbsentError(f"pip install 'moto[server]' s3fs ({error})") from None
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _served(command, f"http://127.0.0.1:{port}/moto-api/"):
        server = S3(f"http://127.0.0.1:{port}")
        make_bucket = urllib.request.Request(f"{server.url}/{server.bucket}", method="PUT")
        with urllib.request.urlopen(make_bucket, timeout=60):
            pass
        yield server


@contextmanager
def mlflow() -> Iterator[str]:
    """An MLflow server of its own, with SQLite behind it, on a free port of this machine alone; its address."""
    if shutil.which("mlflow", path=str(Path(sys.executable).parent)) is None:
        raise AbsentError("pip install mlflow")
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="recombine-mlflow-"))
    command = [
        *(sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
        *("--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "artifacts")),
    ]
    try:
        # Without its eight workers for jobs, which nobody asks for here.
        with _served(command, f"http://127.0.0.1:{port}/health", MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"):
            yield f"http://127.0.0.1:{port}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _served(command: Sequence[str], answers: str, **settings: str) -> Iterator[None]:
    """A server that runs while it is needed; it is up once it answers at an address."""
    with tempfile.TemporaryFile() as log:
        environment = os.environ | settings
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=environment)
        try:
            _wait_for_answer(answers, process, log)
            yield
        finally:
            with suppress(ProcessLookupError):  # it never started, and what it said of that is raised already
                os.killpg(process.pid, signal.SIGKILL)  # its workers too; it holds nothing that must be kept
            process.wait(timeout=20)


def _wait_for_answer(address: str, process: "subprocess.Popen[bytes]", log: Any) -> None:
    for _ in range(1200):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    log.seek(0)
    raise RuntimeError(f"{process.args} did not start:\n{log.read().decode(errors='replace')}")
