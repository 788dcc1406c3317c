"""What an engine complains of, in a line that can be shown."""

from recombine.base.redaction import redacted_words

UNREAD_LINES = "Error when sniffing file"
"""How DuckDB begins to say that it cannot tell the columns of a CSV."""


def first_line(error: Exception) -> str:
    """What an engine said, in one line and without passwords."""
    several = len(error.args) > 1 and all(isinstance(part, str) for part in error.args)
    # before it is cut: half a password is no longer known for one
    said = redacted_words("\n".join(error.args) if several else str(error))
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [type(error).__name__]
    if UNREAD_LINES in lines[0]:
        return "its lines do not agree on a separator, quotes, line endings and a number of columns"
    if several or "CSV Error" in lines[0]:  # the first line alone says only where
        lines = [". ".join(line for line in lines[:3] if not line.startswith("Original Line"))]
    return lines[0][:300]
