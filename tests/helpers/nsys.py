"""Small Nsight Systems databases, made as the bundled timeline is made."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import SAMPLES
from tests.helpers import scripts
from triage.capture.capture import Capture
from triage.reading import reader

FOLDER = SAMPLES / "nsys-sqlite"
SAMPLE = FOLDER / "training_two_gpus.sqlite"


script = scripts.load(FOLDER / "make_timeline.py")
US, MS = script.US, script.MS


def capture(path: Path, job: Callable[[Any], None], change: str = "", **leave_out: Any) -> Capture:
    """What is read from the database of one thread's work; change: SQL run on it before it is read."""
    session = script.Session()
    session.gpu(0, "NVIDIA H100 80GB HBM3", 132, 9, 0)
    thread = script.Thread(session, 4001, 0)
    job(thread)
    return written(path, session, change, **leave_out)


def written(path: Path, session: Any, change: str = "", **leave_out: Any) -> Capture:
    """A session's database, changed, read."""
    session.write(path, **leave_out)
    if change:
        connection = sqlite3.connect(path)
        connection.executescript(change)
        connection.close()
    return reader.read(str(path))
