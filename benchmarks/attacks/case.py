"""One case of a family: everything in it is drawn from the seed, the family's name and the case's number."""

import importlib.util
import random
import re
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

Attack = Callable[["Case"], None]


@dataclass(frozen=True)
class Outcome:
    """How a case ended: the faults that it found, or why it could not be tried here."""

    family: str
    number: int
    faults: tuple[str, ...]
    seconds: float
    skipped: str = ""


class Skipped(Exception):  # noqa: N818 - not an error
    """This case cannot be tried on this machine."""


@dataclass
class Case:
    """What an attack is given: chance, a folder of its own, and a place to note faults."""

    family: str
    seed: int
    number: int
    folder: Path
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.seed} {self.family} {self.number}")

    def expect(self, holds: object, said: str) -> bool:
        """Note a fault where something does not hold."""
        if not holds:
            self.faults.append(self.tidy(said))
        return bool(holds)

    def tidy(self, said: str) -> str:
        """One line, without what differs from run to run: the scratch folder and random names."""
        line = " ".join(said.split()).replace(str(self.folder), "…")
        line = "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in line)
        return re.sub(r"0x[0-9a-f]{6,}", "0x…", line)[:400]

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.rng.random() < share


def run_case(attack: Attack, *, family: str, seed: int, number: int) -> Outcome:
    """Run one case in a scratch folder that goes away; what it raises is a fault too."""
    started = time.perf_counter()
    with _scratch() as folder:
        case = Case(family, seed, number, folder)
        skipped = ""
        try:
            attack(case)
        except Skipped as word:
            skipped = str(word)
        except Exception as error:  # noqa: BLE001 - whatever the library raises at an attack is what we look for
            case.expect(False, told(error))
    return Outcome(family, number, tuple(case.faults), time.perf_counter() - started, skipped)


def told(error: BaseException) -> str:
    """An exception in a line, with the place in the library where it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "recombine" in Path(frame.filename).parts]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{place}"


def needs(*names: str) -> None:
    """A case that needs what is not installed is left out with a word."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise Skipped(f"it needs {', '.join(missing)}")


def answers_or_words(case: Case, said: str, ask: Callable[[], object]) -> None:
    """Ask: an answer is fine, and so is an error of our own, which is words; anything else is a fault."""
    from recombine.base.errors import RecombineError  # noqa: PLC0415 - the library is loaded by those who run cases

    try:
        ask()
    except RecombineError:
        pass
    except Exception as error:  # noqa: BLE001 - a traceback is what we look for
        case.expect(False, f"{said}: {told(error)}")


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="siege-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
