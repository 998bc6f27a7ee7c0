"""What docs/platforms.md says is tested on Linux for macOS and Windows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.regolden import samples
from triage import api
from triage.products.batch.find import slugify

RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
ELSEWHERE = """
import os, select, signal, sys
import click, concurrent.futures.process, filelock, jinja2, multiprocessing.connection, numpy, orjson, pandas, platformdirs, rich.console, shutil, sqlite3, subprocess, tempfile, yaml
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "durable_rules_engine"):
    sys.modules[name] = None
for name in ("fork", "geteuid", "getuid", "sched_getaffinity", "O_NOFOLLOW", "O_DIRECTORY", "O_NOCTTY", "O_CLOEXEC", "killpg", "mkfifo"):
    delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "setitimer", "ITIMER_REAL", "alarm"):
    delattr(signal, name)
os.supports_dir_fd = os.supports_follow_symlinks = set()
sys.platform = "win32"
from triage.__main__ import main
main()
"""


@pytest.mark.slow
def test_a_run_needs_nothing_of_posix_and_names_every_encoding(tmp_path: Path) -> None:
    """With what Windows lacks taken away; -X warn_default_encoding fails on each file opened without an encoding."""
    script = tmp_path / "elsewhere.py"
    script.write_text(ELSEWHERE)
    strict = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning:triage"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TRIAGE_CACHE": str(tmp_path / "cache"), "TRIAGE_CONFIG": "off"}

    def run(command: list[str], *args: str) -> bytes:
        done = subprocess.run([sys.executable, *command, *args], cwd=ROOT, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    demo = ["diagnose", "sample_captures/gpu-trace/demo_frame", "-f", "json"]
    wanted = run(["-m", "triage"], *demo)
    for _ in ("first", "from the cache"):
        assert run([*strict, str(script)], *demo) == wanted
    store = ["--commit", "a", "--branch", "b", "--history", str(tmp_path / "h.sqlite")]
    run([*strict, str(script)], "history", "add", "sample_captures/compare/table1_before.csv", *store)
    out = tmp_path / "out"
    run([*strict, str(script)], "batch", "sample_captures/compare", "-o", str(out), "-f", "html", "--jobs", "1")
    assert len(list((out / "reports").glob("*.html"))) >= 10


def test_names_of_reports_are_names_on_every_system() -> None:
    plain = "CON con.csv nul.tar.gz COM1 a. a.. A/x.csv a/X.csv x:y*?<>|.csv ünï.csv -".split()
    given = [*plain, "a b ", "\\\\host\\x.csv", "q" * 400]
    slugs = [slugify(name, name) for name in given]
    for slug in slugs:
        assert re.fullmatch(r"[\w.-]{1,200}", slug) and not slug.endswith((".", " "))
        assert slug.lower().partition(".")[0] not in RESERVED
    assert len({s.lower() for s in slugs}) == len(slugs)


def decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("cp1252")


TEXTS = [(n, p) for n, p in samples() if (ROOT / p).is_file() and b"\0" not in (ROOT / p).read_bytes()[:4096]]


@pytest.mark.parametrize("how", ["crlf", "bom"])
def test_texts_that_windows_tools_saved_again_are_read_alike(how: str, tmp_path: Path) -> None:
    assert len(TEXTS) > 50
    for name, path in TEXTS:
        text = (ROOT / path).read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        copy = tmp_path / Path(path).parent.name / Path(path).name
        if not copy.exists():  # with what lies beside it: some exports are read together
            shutil.copytree((ROOT / path).parent, copy.parent)
        copy.write_bytes(text.replace(b"\n", b"\r\n") if how == "crlf" else decoded(text).encode("utf-8-sig"))
        before, after = api.read(ROOT / path), api.read(copy)
        assert (after.input.dialect, list(after.names)) == (before.input.dialect, list(before.names)), name
        assert after.facts.keys() == before.facts.keys(), name
        for metric, values in before.facts.items():
            if values.dtype.kind == "f":
                np.testing.assert_array_equal(after.facts[metric], values, err_msg=f"{name} {metric}")
