"""Runs of the command line without its imports: a process that has them, and has diagnosed once, forks for each run.

Starting Python, NumPy and pandas takes longer than most diagnoses, and so does what a process reads and compiles once.
Each run still is a process of its own, with its own arguments, folder, environment and streams; whatever needs more than
that, or a cache of its own, starts a whole one (`conftest.run`).
"""

import atexit
import gc
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC", "OPENBLAS", "OMP_")  # by Python and its libraries
_server: tuple[subprocess.Popen[bytes], socket.socket] | None = None


def possible(cwd: Path, env: dict[str, str] | None, how: dict[str, Any]) -> bool:
    """True where a fork answers as a whole process does: nothing asked for that counts when Python starts."""
    if not hasattr(os, "fork") or how.keys() - {"timeout"}:
        return False
    foreign = (Path(cwd) / "triage").exists() and Path(cwd).resolve() != ROOT
    return not foreign and not any(key.startswith(_READ_AT_START) for key in env or {})


def run(
    args: list[str], cwd: Path, env: dict[str, str], timeout: float = 300, first: str = ""
) -> subprocess.CompletedProcess[str]:
    """One run of `python -m triage`, as subprocess.run would return it; raises TimeoutExpired. first: code run before it."""
    global _server
    if _server is None or _server[0].poll() is not None:
        _server = _start()
    with tempfile.TemporaryDirectory(prefix="triage-run-") as folder:
        out, err = f"{folder}/out", f"{folder}/err"
        ours = _server[1]
        ours.settimeout(timeout)
        ours.sendall(json.dumps([args, str(cwd), env, out, err, first]).encode() + b"\n")
        pid = int(_line(ours))
        try:
            code = int(_line(ours))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            _line(ours)
            raise subprocess.TimeoutExpired(args, timeout) from None
        texts = [Path(p).read_bytes().decode().replace("\r\n", "\n") for p in (out, err)]
    return subprocess.CompletedProcess([sys.executable, "-m", "triage", *args], code, *texts)


# hands its arguments, folder and environment to whom it is told, prints what comes back, and ends with that code
_CLIENT = """
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
code, out, err = json.loads(s.makefile().read())
sys.stdout.write(out), sys.stderr.write(err), sys.exit(code)
"""


@contextmanager
def command() -> Iterator[str]:
    """A command line that runs the program by a fork: for scripts that are told what to call it."""
    with tempfile.TemporaryDirectory(prefix="triage-fork-") as folder, socket.socket(socket.AF_UNIX) as here:
        client, path = Path(folder, "client.py"), str(Path(folder, "socket"))
        client.write_text(_CLIENT, "utf-8")
        here.bind(path)
        here.listen()

        def answer() -> None:
            while True:
                try:
                    caller, _ = here.accept()
                except OSError:  # closed: nobody calls any more
                    return
                with caller:
                    done = run(*json.loads(_line(caller)))
                    caller.sendall(json.dumps([done.returncode, done.stdout, done.stderr]).encode())

        threading.Thread(target=answer, daemon=True).start()
        yield shlex.join([sys.executable, "-S", "-E", str(client), path])
        here.shutdown(socket.SHUT_RDWR)


def _start() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], cwd=ROOT,
            stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    atexit.register(server.kill)
    return server, ours


def _line(ours: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        part = ours.recv(1)
        if not part:
            raise EOFError("the process that forks has ended")
        data += part
    return data


def _serve(theirs: socket.socket) -> None:
    """Fork for each request; answers its process id, then its exit code, negative for a signal."""
    import importlib
    import pkgutil

    import triage
    import triage.__main__

    for library in ("jinja2", "orjson", "pandas", "rich.table", "yaml"):  # what commands import when they need it
        importlib.import_module(library)
    for module in pkgutil.walk_packages(triage.__path__, "triage."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    diagnosed = triage.diagnose(ROOT / "sample_captures" / "generic" / "p3_workloads_v2.csv")
    for form in triage.rendering.formats.formats():
        triage.rendering.formats.render(diagnosed.bundle, form, lambda text: None)
    gc.freeze()  # a collection in a child would touch, and so copy, all pages
    for request in theirs.makefile("rb"):
        how = json.loads(request)
        if not (pid := os.fork()):
            theirs.close()
            _become(*how)
        theirs.sendall(f"{pid}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        theirs.sendall(f"{code}\n".encode())


def _become(args: list[str], cwd: str, env: dict[str, str], out: str, err: str, first: str) -> None:
    """Run the command line with these streams, and end as Python would."""
    import traceback

    from triage.__main__ import main

    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    exec(first, {})
    sys.argv = ["triage", *args]
    code = 1
    try:
        main()
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
