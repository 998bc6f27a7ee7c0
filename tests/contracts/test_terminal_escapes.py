"""Sequences that a terminal obeys, from every place of a file and its name, through every command: shown, never sent."""

import csv
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.helpers import fuzzing
from triage.commands import cli

pytestmark = pytest.mark.slow

EVIL = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\x9d8;;x\x9c\x90q\x08\x7f\u202egpj\u2066x##vso[y]"
HEADERS = ("name", "path", "kind", "device", "queue", f"loss{EVIL}", "gpu.time [ms]", "sm.throughput [%]", "vram.throughput [%]", "l2.hit_rate [%]", "sm.occupancy [%]")  # fmt: skip
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hostile files: names, paths, words, headers, cells, rules of the profiler, and the files' own names."""
    place = tmp_path_factory.mktemp("evil")
    for k in (0, 1):
        with (place / f"a{EVIL}{k}.csv").open("w", encoding="utf-8", newline="") as f:
            out = csv.writer(f)
            out.writerow(HEADERS)
            for i in range(6):
                out.writerow(
                    [f"m{i}{EVIL}", f"top{EVIL}/m{i}{EVIL}", EVIL, EVIL, EVIL, EVIL, 1 + i + k, 30, 90, 40, 12]
                )
            out.writerow(
                [f"n{EVIL}", "", "", "", "", "", f"1{EVIL}", "inf", "900", "-4", "nan"]
            )  # every remark quotes a cell
    details = (SAMPLES / "ncu-details" / "solver-2021.csv").read_text("utf-8")
    (place / "ncu.csv").write_text(re.sub(r'(?<=",")(?=[A-Za-z])', EVIL, details), "utf-8")
    (place / "kernels.csv").write_text(details.replace("(", EVIL + "(").replace("is ", "is " + EVIL), "utf-8")
    (place / f"broken{EVIL}.csv").write_text(f"{EVIL},{EVIL}\n{EVIL},{EVIL}\n", "utf-8")
    (place / f"unit{EVIL}.csv").write_text(f"name,gpu.time [{EVIL}]\nm,1\n", "utf-8")
    rules = place / "rules"
    rules.mkdir()
    (rules / f"r{EVIL}.yaml").write_text(f"id: {EVIL}\nwhen: {EVIL}\n", "utf-8")
    return place


def said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    """Exit code, everything that was written, and what of it went to stderr, of the command line in this process."""
    monkeypatch.setattr(sys, "argv", ["triage", *map(str, args)])
    monkeypatch.setattr(cli, "_leave", sys.exit)  # it ends the process, which is the tests' own
    monkeypatch.setattr(cli.Interruption, "prepare", lambda _: None)
    monkeypatch.setattr(cli.gc, "set_threshold", lambda *_: None)
    with pytest.raises(SystemExit) as e:
        cli.main()
    out = capfd.readouterr()
    return int(e.value.code or 0), out.out + out.err, out.err


A, B = f"a{EVIL}0.csv", f"a{EVIL}1.csv"
COMMANDS = [
    *(["diagnose", A, "--full", "-f", f] for f in ("terminal", "markdown", "jira", "html", "json", "csv", "junit")),
    *(["compare", A, B, "-f", f] for f in ("terminal", "markdown", "html", "json", "junit")),
    *(["facts", A, "-f", f] for f in ("table", "csv", "json")),
    *(["diagnose", "kernels.csv", "--opinions", "-f", f] for f in ("terminal", "json")),
    *(["diagnose", "kernels.csv", "--full", "-f", f] for f in ("terminal", "markdown", "json")),
    ["facts", "ncu.csv"],
    ["diagnose", "ncu.csv"],
    ["explain", "memory-bound", "--on", A],
    ["explain", "l2.hit_rate", "--on", A],
    ["explain", EVIL],
    ["explain", EVIL, "--on", A],
    ["tickets", A, "-o", "tickets"],
    ["batch", ".", "-o", "batch", "-f", "markdown", "--jobs", "1"],
    ["history", "add", A, "--commit", EVIL, "--branch", EVIL],
    ["history", "list"],
    ["history", "show"],
    ["history", "show", EVIL],
    ["history", "gate"],
    ["diagnose", f"broken{EVIL}.csv"],
    ["diagnose", f"unit{EVIL}.csv"],
    ["diagnose", f"gone{EVIL}.csv"],
    ["diagnose", A, "--marker", EVIL],
    ["diagnose", A, "--dialect", EVIL],
    ["diagnose", A, "--device", EVIL],
    ["diagnose", A, "--map", f"{EVIL}={EVIL}"],
    ["diagnose", A, "--select", EVIL],
    ["diagnose", A, "--set", f"{EVIL}.threshold=1"],
    ["diagnose", A, "--template", f"{EVIL}.j2"],
    ["diagnose", A, "--rules", f"rules/r{EVIL}.yaml"],
    ["diagnose", A, "-o", f"{EVIL}/{EVIL}.html"],
    ["check", f"rules/r{EVIL}.yaml"],
    ["check", "rules"],
    ["list", EVIL],
    ["list", "rules", EVIL],
    ["occupancy", "--arch", EVIL, "--threads", EVIL, "--regs", EVIL],
    ["occupancy", "--tile", EVIL],
    [EVIL],
    ["diagnose", f"--{EVIL}"],
]  # fmt: skip


@pytest.mark.parametrize("args", COMMANDS, ids=[" ".join(a).encode("ascii", "ignore").decode().replace("\x1b", "") [:40] for a in COMMANDS])  # fmt: skip
def test_nothing_that_a_terminal_obeys(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], args: list[str]
) -> None:
    monkeypatch.chdir(folder)
    code, text, error = said(monkeypatch, capfd, *args)
    assert code in (0, 1, 2), text
    assert "Traceback" not in text and "##vso[" not in text
    allowed = "\t\r" if args[0] in ("diagnose", "facts") and args[-1] in ("csv", "html") else ""
    assert not set(CONTROL.findall(text)) - set(allowed), text[:2000]
    assert args[-1] == "json" or not fuzzing.BIDI & set(text), text[:2000]
    if code == 2:
        assert error.count("\n") <= 2, error


def test_what_commands_write_is_tame_too(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    said(monkeypatch, capfd, "batch", ".", "-o", "out", "-f", "markdown", "-f", "html", "-f", "csv", "--jobs", "1")
    said(monkeypatch, capfd, "tickets", A, "-o", "out/tickets")
    written = [p for p in (folder / "out").rglob("*") if p.is_file() and not p.name.startswith(".")]
    assert len(written) > 8
    for path in written:
        if path.suffix in (".md", ".html", ".csv", ".json", ".txt"):
            found = set(CONTROL.findall(path.read_bytes().decode("utf-8"))) - set("\t\r")
            assert not found, (path.name, found)
            assert not re.search(f"[{CONTROL.pattern[1:-1]}]", path.name), path
