"""The check of commit subjects in `make lint`."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commit_subjects import MAX_LENGTH, faults, main


@pytest.mark.parametrize(
    "subject",
    [
        "tables: read octets and per-block thread counts",
        "Fix a crash in durable-rules",
        "rules, causes: pass the units on",
        "triage/derive: need one more input",
        'Revert "a subject that is longer than seventy-two characters, as git writes them by itself"',
    ],
)
def test_good_subjects(subject: str) -> None:
    assert not list(faults(subject))


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("tables: reads octets", "starts with 'reads'"),
        ("Fixed a crash", "starts with 'fixed'"),
        ("reports: adding labels", "starts with 'adding'"),
        ("The limiter of a workload", "starts with 'the'"),
        ("reports: one table of labels", "starts with 'one'"),
        ("Fix a crash.", "ends in a full stop"),
        ("Fix " + "x" * 70, f"74 characters, at most {MAX_LENGTH}"),
        (": nothing", "starts with ''"),
    ],
)
def test_bad_subjects(subject: str, fault: str) -> None:
    assert any(f.startswith(fault) for f in faults(subject)), list(faults(subject))


def commit(folder: Path, subject: str) -> str:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", str(folder)]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_only_commits_after_the_start_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tmp_path, "0" * 40) == 0  # not a repository
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    start = commit(tmp_path, "Things that were said.")
    commit(tmp_path, "Add a check")
    assert main(tmp_path, start) == 0
    bad = commit(tmp_path, "Added another.")
    capsys.readouterr()
    assert main(tmp_path, start) == 1
    out = capsys.readouterr().out
    assert "ends in a full stop" in out
    assert bad[:7] in out
    assert "Things" not in out
    assert main(tmp_path, "0" * 40) == 0  # a shallow clone
