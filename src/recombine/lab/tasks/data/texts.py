"""Texts of a data set, line by line."""

import gzip

from recombine.lab.tasks.data.download import local_or_downloaded


def open_text(name: str) -> list[str]:
    """The lines of a text, for example of "scan/tasks.txt", without their ends; a local copy may be compressed."""
    path = local_or_downloaded(name)
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode("utf-8").removesuffix("\n").split("\n")
