"""Writers of one history are killed at random: is every run that was reported there, and whole?

    python benchmarks/history_kills.py [KILLS] [FILE]

Four writers at a time add runs to the same file as fast as they can; each is killed (SIGKILL) at a random moment,
also in the middle of a transaction. Prints the figures, exit 1 where a run is lost or halved or the file is damaged.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time

from triage.products.history import store
from triage.products.history.record import Key, Run, Todo

WRITERS = 4
MARKERS = 40


def some_run(number: int) -> Run:
    times = tuple((f"Frame\x1fPass {m}", 1e6 + m, "spill") for m in range(MARKERS))
    todo = (Todo("spill", "Registers spill", 1, 1.0, 0.1, "notable", "low", 1),)
    return Run(f"{number:064}", f"{number}.csv", 4e7, 0.0, "0", "0", times, todo)


def write(path: str, first: int, pipe: int) -> None:
    """Add runs until killed; a run's number goes down the pipe once it is said to be kept."""
    with store.opened(path, create=True) as db:
        for number in range(first, first + 1_000_000):
            store.add(db, Key("main", f"c{number % 7}", "", ""), number % 7, some_run(number), 0)
            os.write(pipe, f"{number}\n".encode())


def main(kills: int = 200, path: str = "") -> int:
    chance = random.Random(5)
    folder = tempfile.TemporaryDirectory()
    path = path or os.path.join(folder.name, "kills.sqlite")
    ends, begun = [], 0
    alive: list[int] = []
    for kill in range(kills):
        while len(alive) < WRITERS:
            source, sink = os.pipe()
            child = os.fork()
            if child == 0:
                write(path, begun * 1_000_000, sink)
                os._exit(1)
            os.close(sink)
            ends.append(source)
            alive.append(child)
            begun += 1
        time.sleep(chance.uniform(0, 0.04))
        victim = alive.pop(chance.randrange(WRITERS) if kill % 2 else 0)
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
    for child in alive:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    reported: set[str] = set()
    for end in ends:
        with os.fdopen(end) as f:
            reported |= {f"{int(line):064}" for line in f if line.endswith("\n")}
    with store.opened(path) as db:
        sound = (
            db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            and not db.execute("PRAGMA foreign_key_check").fetchall()
        )
        kept = {sha for (sha,) in db.execute("SELECT sha256 FROM run")}
        halves = db.execute(
            "SELECT count(*) FROM run WHERE (SELECT count(*) FROM time WHERE run = id) != ? "
            "OR (SELECT count(*) FROM todo WHERE run = id) != 1",
            (MARKERS,),
        ).fetchone()[0]
    lost = len(reported - kept)
    print(
        f"{kills + len(alive)} kills, {len(reported)} runs reported as kept, {len(kept)} in the file; "
        f"{lost} lost, {halves} halved, file {'sound' if sound else 'DAMAGED'}"
    )
    return 0 if sound and not lost and not halves and reported else 1


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:2]), *sys.argv[2:3]))
