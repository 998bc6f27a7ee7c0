"""Which build this is: what the user says, else what the CI service says, else git."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping

from msgspec import Struct

from triage.ground.errors import TriageError

COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION")  # GitHub, GitLab, Jenkins, Azure
BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME", "BUILD_SOURCEBRANCHNAME")


class Origin(Struct, frozen=True):
    """A build's place. at: seconds since 1970."""

    revision: str
    branch: str
    at: int


def of(commit: str, branch: str, environment: Mapping[str, str], at: int | None, now: int) -> Origin:
    """The build of a run. at: its time as the user says it; else git's, else `now`. Raises TriageError without a commit."""
    revision = commit or _first(COMMITS, environment) or _git("rev-parse", "HEAD")
    if not revision:
        raise TriageError("unknown build (neither CI nor git names it)", "add --commit ID")
    name = branch or _first(BRANCHES, environment) or _git("rev-parse", "--abbrev-ref", "HEAD")
    if at is None:
        when = _git("show", "-s", "--format=%ct", f"{revision}^{{commit}}") if not revision.startswith("-") else ""
        at = int(when) if when.isdigit() else now
    return Origin(revision, name if name and name != "HEAD" else "main", at)


def _first(names: tuple[str, ...], environment: Mapping[str, str]) -> str:
    return next((environment[n] for n in names if environment.get(n)), "")


def _git(*words: str) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(["git", *words], capture_output=True, text=True, timeout=10, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return ""
