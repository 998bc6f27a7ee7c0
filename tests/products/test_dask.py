"""The same batch on a real Dask cluster of two worker processes, one of which is killed half-way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.products.test_batch import N, night, tree
from triage.ground.errors import TriageError
from triage.products.batch import find, run
from triage.products.settings import Settings

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own shutdown


def start(*command: str, folder: Path) -> subprocess.Popen[bytes]:
    log = (folder / "dask.log").open("ab")
    return subprocess.Popen(
        [sys.executable, "-m", *command], stdout=log, stderr=log, cwd=folder, start_new_session=True
    )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers in processes of their own."""
    note = tmp_path / "scheduler.json"
    worker = ("distributed.cli.dask_worker", "--scheduler-file", str(note), "--nthreads", "1", "--no-nanny", "--no-dashboard",
              "--local-directory", str(tmp_path))  # fmt: skip
    running = [
        start(
            "distributed.cli.dask_scheduler",
            "--scheduler-file",
            str(note),
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            folder=tmp_path,
        )
    ]
    try:
        for _ in range(1200):
            if note.exists():
                break
            time.sleep(0.1)
        running += [start(*worker, folder=tmp_path) for _ in range(2)]
        import json

        address = json.loads(note.read_text())["address"]
        with distributed.Client(address, set_as_default=False, timeout=60) as client:
            client.wait_for_workers(2, timeout=90)
        yield address, running[1:]
    finally:
        for p in reversed(running):
            p.kill()
            p.wait()


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]) -> None:
    address, workers = cluster
    night(tmp_path / "in", N * 9 // 10, N // 10)
    found = find.gather([str(tmp_path / "in")]).captures
    settings = Settings(formats=("json",))
    done = []

    def progress(outcome: object, count: int) -> None:
        done.append(outcome)
        if count == N // 3:
            os.kill(workers[0].pid, signal.SIGKILL)

    b = run.run(found, settings, tmp_path / "dask", dask=address, progress=progress)
    assert workers[0].wait(10) == -signal.SIGKILL
    assert len(done) == len(found)
    assert (len(b.captures), len(b.errors)) == (N * 9 // 10, N // 10)
    run.run(found, settings, tmp_path / "here")
    assert tree(tmp_path / "dask") == tree(tmp_path / "here")


def test_no_scheduler_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triage.products.batch.workers.CONNECT", 1)
    with pytest.raises(TriageError, match="no scheduler answers"):
        run.run([], Settings(formats=("json",)), tmp_path / "out", dask="tcp://127.0.0.1:1")
