"""What happens when the machine fails: full disks, vanished files, signals, closed pipes, odd consoles."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FORMATS, ROOT, SAMPLES, diagnosis_of, run
from triage import diagnose
from triage.dialects.tables import csv_parser
from triage.ground.errors import out_of_memory

SAMPLE = SAMPLES / "generic" / "p3_workloads_v2.csv"
TRIAGE = [sys.executable, "-m", "triage"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
unprivileged = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")


def one_line(p: subprocess.CompletedProcess[str], code: int = 2) -> None:
    assert p.returncode == code, (p.returncode, p.stderr)
    assert len(p.stderr.strip().splitlines()) == 1, p.stderr
    assert "Traceback" not in p.stderr


def started(*args: object, **how: Any) -> subprocess.Popen[str]:
    """The real command line at work, with its output kept."""
    command = [*TRIAGE, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, **how)


def at_work(p: subprocess.Popen[str], seconds: float) -> None:
    """Wait until it has used so much CPU time, or has ended: on a busy machine the clock says nothing."""
    stat = Path(f"/proc/{p.pid}/stat")
    if not stat.exists():
        time.sleep(seconds)
    while p.poll() is None and stat.exists():
        user, system = stat.read_text("utf-8").rpartition(")")[2].split()[11:13]
        if (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") >= seconds:
            break
        time.sleep(0.01)


def large(path: Path, rows: int = 150_000) -> Path:
    """An export that takes seconds to read and report."""
    head, *body = SAMPLE.read_text("utf-8").splitlines()
    with path.open("w", encoding="utf-8") as f:
        f.write(head + "\n")
        for i in range(rows):
            f.write(f"m{i}_" + body[i % len(body)] + "\n")
    return path


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large(tmp_path_factory.mktemp("big") / "big.csv")


# --- disk full, read-only ------------------------------------------------------------------------------------------


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 KiB, or a skip where it cannot be mounted."""
    place = tmp_path / "tiny"
    place.mkdir()
    mount = shutil.which("mount")
    if (
        not mount
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", place], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("fmt", [f for f in FORMATS if f != "brief"])  # which is bounded, and fills no disk
def test_disk_full(tiny_disk: Path, tmp_path: Path, fmt: str) -> None:
    p = run(
        "diagnose", large(tmp_path / "large.csv", 500), "-f", fmt, "-o", tiny_disk / "r.out", "--full", "--top", 200
    )
    one_line(p)
    assert "space" in p.stderr
    assert list(tiny_disk.iterdir()) == []


# a write beyond the limit of 500 bytes then fails like a full disk
LIMITED = (
    "import resource, signal\n"
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))"
)


@pytest.mark.slow
@posix
@pytest.mark.parametrize("fmt", FORMATS)
def test_disk_full_simulated(tmp_path: Path, fmt: str) -> None:
    out = tmp_path / "r.out"
    one_line(run("diagnose", SAMPLE, "-f", fmt, "-o", out, first=LIMITED))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("fmt", FORMATS)
def test_stdout_on_a_full_disk(fmt: str) -> None:
    one_line(run("diagnose", SAMPLE, "-f", fmt, first="import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"))


@unprivileged
def test_read_only_folder(tmp_path: Path) -> None:
    place = tmp_path / "ro"
    place.mkdir(mode=0o555)
    one_line(run("diagnose", SAMPLE, "-f", "json", "-o", place / "r.json"))


@pytest.mark.slow
def test_output_where_it_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for target in (tmp_path / "file" / "r.json", tmp_path / "folder", "/proc/nowhere/r.json", tmp_path / ("n" * 300)):
        one_line(run("diagnose", SAMPLE, "-f", "json", "-o", target))
    one_line(run("batch", SAMPLE, "-o", tmp_path / "file"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert list((tmp_path / "folder").iterdir()) == []


def test_an_old_report_survives_a_failed_new_one(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    out.write_text("the old report")
    one_line(run("diagnose", SAMPLE, "-f", "json", "-o", out, first=LIMITED))
    assert out.read_text() == "the old report"


# --- input that changes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cut", "replaced", "removed", "grown"])
@pytest.mark.parametrize(
    "sample",
    ["generic/p3_workloads_v2.csv", "ncu-details/transpose.details.csv", "nsys-trace/render_cuda_gpu_trace.csv"],
)
def test_file_changes_between_looking_and_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, sample: str
) -> None:
    from triage import dialects
    from triage.ground.errors import TriageError
    from triage.reading import reader

    path = tmp_path / "a.csv"
    shutil.copy(SAMPLES / sample, path)
    pick = dialects.pick

    def picked(*a: Any, **k: Any) -> Any:
        found = pick(*a, **k)
        change(path, how)
        return found

    monkeypatch.setattr(dialects, "pick", picked)
    with pytest.raises(TriageError) as e:
        reader.read(str(path))
    assert len(str(e.value).splitlines()) == 1


def change(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "cut":
        os.truncate(path, len(data) // 3)
    elif how == "replaced":
        other = path.with_name("other")
        other.write_bytes(data.replace(b"1", b"7"))
        os.replace(other, path)
    elif how == "removed":
        path.unlink()
    else:
        with path.open("ab") as f:
            f.write(data)


@pytest.mark.parametrize("how", ["cut", "replaced", "removed"])
def test_file_changes_between_reading_and_quoting(tmp_path: Path, book: Any, how: str) -> None:
    """Cells are quoted from the file when the report is made: never from another file than the one that was read."""
    from triage.findings import assembling
    from triage.ground.errors import TriageError
    from triage.reading import reader
    from triage.rendering import formats

    path = tmp_path / "a.csv"
    shutil.copy(SAMPLE, path)
    found = diagnosis_of(reader.read(str(path)), book)
    change(path, how)
    with pytest.raises(TriageError, match="chang"):
        formats.render(assembling.bundle(found), "json", [].append)


@pytest.mark.slow
@posix
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """`triage diagnose <(zcat x.csv.gz)`"""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    feeder = subprocess.Popen(["sh", "-c", f"cat '{SAMPLE}' > '{fifo}'"])
    p = run("diagnose", fifo, "-f", "json")
    assert feeder.wait(timeout=60) == 0
    assert p.returncode == 0, p.stderr


@pytest.mark.slow
def test_endless_devices_are_refused() -> None:
    for device in ("/dev/zero", "/dev/urandom"):
        if Path(device).exists():
            one_line(run("diagnose", device))


def test_a_home_folder_by_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triage.files import tree
    from triage.ground.errors import TriageError
    from triage.reading import reader

    monkeypatch.setattr(tree, "MAX_FILES", 50)
    for i in range(60):
        (tmp_path / f"{i}.txt").write_text("x")
    with pytest.raises(TriageError, match="more than 50 files"):
        reader.read(str(tmp_path))


# --- signals --------------------------------------------------------------------------------------------------------


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


@pytest.mark.slow
@posix
@pytest.mark.parametrize("after", [0.1, 0.6, 1.2, 2.0, 3.0])
def test_killed_at_any_point_nothing_half_written(tmp_path: Path, big: Path, after: float) -> None:
    out = tmp_path / "r.html"
    p = started("diagnose", big, "-f", "html", "-o", out, "--top", "2000")
    with contextlib.suppress(subprocess.TimeoutExpired):
        p.wait(after)
    p.kill()
    p.communicate()
    if out.exists():
        assert out.read_text("utf-8").rstrip().endswith("</html>")


@pytest.mark.slow
@posix
@pytest.mark.parametrize("after", [0.1, 0.2, 0.5, 1.2, 2.0])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, big: Path, after: float, sign: signal.Signals) -> None:
    out = tmp_path / "r.html"
    p = started("diagnose", big, "-f", "html", "-o", out, "--top", "2000")
    at_work(p, after)
    p.send_signal(sign)
    stdout, stderr = p.communicate(timeout=300)
    if p.returncode == 0 or (p.returncode == -2 and out.exists()):  # done before the signal, or at the very end
        return
    assert p.returncode in ((130, -2) if sign == signal.SIGINT else (143, -15)), stderr  # a shell shows -2 as 130
    assert stdout == ""
    assert "Traceback" not in stderr
    assert len(stderr.strip().splitlines()) <= 1
    assert leftovers(tmp_path) in ([], ["r.html"])  # the signal may come just after the rename
    assert not out.exists() or out.read_text("utf-8").rstrip().endswith("</html>")


NOT_NOW = {
    "in an import": "import slow_module\nwhile True: time.sleep(0.01)",
    "in the callback of a weak reference": (
        "class Thing: pass\n"
        "thing = Thing(); ref = weakref.ref(thing, lambda _: (done.append(1), ctrl_c()))\n"
        "del thing\nwhile True: time.sleep(0.01)"
    ),
    "while a thread is started": (
        "class Starting(threading.Thread):\n"
        "    def run(self): pass\n"
        "real = threading._start_new_thread\n"
        "def start(*a): ctrl_c(); done.append(1); return real(*a)\n"
        "threading._start_new_thread = start\n"
        "if hasattr(threading, '_start_joinable_thread'):\n"
        "    joinable = threading._start_joinable_thread\n"
        "    threading._start_joinable_thread = lambda *a, **k: (ctrl_c(), done.append(1), joinable(*a, **k))[2]\n"
        "Starting().start()\nwhile True: time.sleep(0.01)"
    ),
    "where somebody catches everything": (
        "interrupted.MAX_DELAY = 0.3\n"
        "while True:\n"
        "    try:\n"
        "        ctrl_c(); time.sleep(0.01)\n"
        "    except BaseException: done.append(1)"
    ),
}


def test_a_signal_while_the_end_is_reported_does_not_report_it_again() -> None:
    code = (
        "import os, signal\nfrom triage.commands import _interrupted as interrupted\n"
        "interrupted.MAX_DELAY, write, again = -1.0, os.write, lambda: signal.raise_signal(signal.SIGINT)\n"
        "os.write = lambda file, text: (again(), write(file, text))\n"
        "interrupted.Interruption().prepare()\nagain()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False, timeout=300)
    assert (p.returncode, p.stderr) == (130, "triage: interrupted\n")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="without timers it is raised at once")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", NOT_NOW)
def test_an_interruption_waits_where_it_would_be_lost(tmp_path: Path, where: str, sign: signal.Signals) -> None:
    """Raised there it is swallowed or leaves a lock behind, and the program runs on or hangs."""
    (tmp_path / "slow_module.py").write_text("from __main__ import ctrl_c, done\nctrl_c()\ndone.append(1)\n")
    code = (
        "import signal, sys, threading, time, weakref\nfrom triage.commands import _interrupted as interrupted\n"
        f"done, ctrl_c = [], lambda: signal.raise_signal({int(sign)})\n"
        "i = interrupted.Interruption(); i.prepare()\n"
        "try:\n" + "".join(f"    {line}\n" for line in NOT_NOW[where].splitlines())
        + "except (KeyboardInterrupt, SystemExit):\n    assert done, 'too early'\n    i._end()\n"
    )  # fmt: skip
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path)))}
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False, timeout=300)
    assert p.returncode == (130 if sign == signal.SIGINT else 143), p.stderr
    assert p.stderr == "triage: interrupted\n"


def children_of(group: int) -> list[str]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(status.parent.name)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_batch_leaves_no_processes(tmp_path: Path, big: Path, sign: signal.Signals) -> None:
    inputs = tmp_path / "in"
    inputs.mkdir()
    for i in range(6):
        shutil.copy(big, inputs / f"{i}.csv")
    out = tmp_path / "out"
    p = started("batch", inputs, "-o", out, "--jobs", "2", start_new_session=True)
    until = time.monotonic() + 60
    while p.poll() is None and len(children_of(p.pid)) < 3 and time.monotonic() < until:  # itself and its two workers
        time.sleep(0.02)
    time.sleep(1.5)  # each of them reads
    if p.poll() is not None:
        pytest.skip("done before the signal")
    os.killpg(p.pid, sign)  # Ctrl-C reaches the whole group
    _, stderr = p.communicate(timeout=60)
    assert p.returncode in ((130, -2) if sign == signal.SIGINT else (130, 143, -15)), stderr
    assert "Traceback" not in stderr, stderr
    for _ in range(600):
        if not children_of(p.pid):
            break
        time.sleep(0.1)
    assert children_of(p.pid) == []
    assert not [name for name in leftovers(out) if name.endswith(".part")]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_interrupted_while_the_workers_of_a_batch_start(tmp_path: Path) -> None:
    """Processes that are just being born know no signal handler of ours: the moment of the first one is awaited."""
    inputs = tmp_path / "in"
    inputs.mkdir()
    for i in range(6):
        shutil.copy(SAMPLE, inputs / f"{i}.csv")
        with (inputs / f"{i}.csv").open("a") as f:
            f.write(f"more{i},fullscreen\n")
    p = started("batch", inputs, "-o", tmp_path / "out", "--jobs", "4", start_new_session=True)
    until = time.monotonic() + 60
    while p.poll() is None and len(children_of(p.pid)) < 2 and time.monotonic() < until:
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(p.pid, signal.SIGINT)
    _, stderr = p.communicate(timeout=60)
    assert p.returncode in (0, 130, -2), stderr
    assert "Traceback" not in stderr, stderr
    assert len(stderr.strip().splitlines()) <= 1, stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited by Linux")
@pytest.mark.parametrize("room", [160, 320])  # with less, C libraries abort the process themselves
def test_too_little_memory_ends_in_one_line(tmp_path: Path, big: Path, room: int) -> None:
    """Some MB more than what the program itself needs to start; with enough, the report."""
    code = (
        "import resource, sys; from triage.commands import cli, diagnose; import numpy, pandas, triage.api, triage.reading.reader\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (used + ({room} << 20),) * 2)\n"
        f"sys.argv = ['triage', 'diagnose', {str(big)!r}, '-f', 'json', '-o', {str(tmp_path / 'r.json')!r}]\n"
        "cli.main()"
    )
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    if p.returncode == 0:
        assert (tmp_path / "r.json").is_file()
        return
    one_line(p)
    assert "memory" in p.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (SystemError("<function read_csv> returned NULL without setting an exception"), True),
        (ImportError("durable.so: failed to map segment from shared object"), True),
        (TypeError("exceptions must derive from BaseException"), True),
        (TypeError("unsupported operand type(s) for +: 'int' and 'str'"), False),
        (ImportError("No module named 'durable_rules_engine'"), False),
    ],
)
def test_what_a_lack_of_memory_looks_like(error: Exception, is_it: bool) -> None:
    assert out_of_memory(error) is is_it


def test_the_parser_is_not_started_without_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It crashes or hangs where it lacks some; with a limit that threads would reach, one of them does the work."""
    monkeypatch.setattr(csv_parser.os, "sched_getaffinity", lambda _: range(4), raising=False)
    assert csv_parser._threads(1 << 30) == 4
    monkeypatch.setattr(csv_parser, "ARENA", 1 << 58)
    assert csv_parser._threads(1 << 30) == 1
    export = large(tmp_path / "large.csv", 5_000)  # one thread, and not so small that it is read without pandas
    assert diagnose(export).todo
    monkeypatch.setattr(csv_parser, "SPARE", 1 << 60)
    with pytest.raises(MemoryError):
        diagnose(export)


# --- consoles and pipes ----------------------------------------------------------------------------------------------


# a reader of the pipe that takes a few bytes of what the process prints, and leaves
LEAVING = """
import os
read, write = os.pipe()
if not os.fork():
    os.close(write)
    os.read(read, 9)
    os._exit(0)
os.dup2(write, 1)
os.close(read)
os.close(write)
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize("fmt", FORMATS)
def test_reader_of_the_pipe_goes_away(tmp_path: Path, fmt: str) -> None:
    export = large(tmp_path / "large.csv", 500)  # whose reports fill a pipe of 64 KiB
    p = run("diagnose", export, "-f", fmt, "--top", 3000, "--full", first=LEAVING)
    assert (p.returncode, p.stdout, p.stderr) == (0, "", "")


@pytest.mark.slow
@posix
def test_reader_in_a_shell_goes_away(tmp_path: Path) -> None:
    export = large(tmp_path / "large.csv", 500)
    command = f"{sys.executable} -m triage diagnose '{export}' --top 3000 --full | head -1; echo ${{PIPESTATUS[0]}}"
    p = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert p.stderr == ""
    assert p.stdout.strip().splitlines()[-1] == "0"


@posix
def test_stdout_closed_from_the_start() -> None:
    p = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m triage diagnose '{SAMPLE}' >&-"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert "Traceback" not in p.stderr


# one process for all formats, since the choice of a console's letters is of the process
EACH_FORMAT = """
import os, sys
import triage.commands.diagnose, triage.rendering.formats
from triage.__main__ import main
good, bad, *formats = sys.argv[1:]
triage.diagnose(good)
for fmt in formats:
    if not os.fork():
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{fmt}.{name}", os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["triage", "diagnose", *([bad] if fmt == "refused" else [good, "-f", fmt])]
        main()
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "cp1252"},
        {"TERM": "dumb"},
    ],
)
def test_consoles_that_cannot_show_it(tmp_path: Path, env: dict[str, str]) -> None:
    """Neither a report of some format, nor why there is none."""
    path, bad = tmp_path / "naïve 漢字.csv", tmp_path / "schön 漢字.csv"
    path.write_text(SAMPLE.read_text("utf-8").replace("Shadow", "漢字🙂é", 1) + "é🙂,fullscreen\n", "utf-8")
    p = subprocess.run(
        [sys.executable, "-c", EACH_FORMAT, str(path), str(bad), *FORMATS, "refused"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        check=False,
    )
    assert p.returncode == 0, p.stderr
    assert p.stdout.split() == [b"0"] * len(FORMATS) + [b"2"]
    for fmt in (*FORMATS, "refused"):
        out, err = ((tmp_path / f"{fmt}.{name}").read_bytes() for name in ("out", "err"))
        assert bool(out) == (fmt != "refused"), fmt
        assert b"Traceback" not in err, fmt
        assert fmt != "refused" or len(err.strip().splitlines()) == 1


@pytest.mark.slow
@posix
def test_file_names_that_are_not_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9 \x1b[31m\n.csv"
    Path(os.fsdecode(path)).write_bytes(SAMPLE.read_bytes())
    for fmt in FORMATS:
        p = run("diagnose", os.fsdecode(path), "-f", fmt)
        assert p.returncode == 0, p.stderr
        assert "\x1b[31m" not in p.stdout
    gone = run("diagnose", os.fsdecode(path + b"x"))
    one_line(gone)
    assert "\x1b" not in gone.stderr


@pytest.mark.slow
@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_follow_umask(tmp_path: Path, mask: int) -> None:
    out = tmp_path / "r.json"
    run("diagnose", SAMPLE, "-f", "json", "-o", out, first=f"import os; os.umask({mask})", check=True)
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~mask


@pytest.mark.slow
def test_no_temporary_files(tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    for fmt in FORMATS:
        assert (
            run("diagnose", SAMPLE, "-f", fmt, "-o", tmp_path / f"r.{fmt}", env={"TMPDIR": str(place)}).returncode == 0
        )
    assert list(place.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["tmp", *(f"r.{f}" for f in FORMATS)])
