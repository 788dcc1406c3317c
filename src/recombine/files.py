"""Files that are written whole or not at all: what is cut off leaves nothing half-written."""

import tempfile
from pathlib import Path

from recombine.errors import OutputError


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file beside its place, then move it there."""
    target = Path(path)
    staging: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}-", delete=False
        ) as file:
            staging = Path(file.name)
            file.write(text)
        staging.chmod(0o644)
        staging.replace(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        if staging is not None:
            staging.unlink(missing_ok=True)
    return target


def cannot_write(target: Path, error: OSError) -> OutputError:
    """Why a place cannot be written to."""
    return OutputError(
        f"cannot write '{target}'",
        why=error.strerror or str(error),
        instead="name a place that you may write to and that has room",
    )
