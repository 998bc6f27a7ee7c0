"""What `triage --version` prints: version and commit; with --verbose also Python, the engine and the optional packages."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Iterator
from pathlib import Path

from triage import __version__

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# extra -> (import name, package, use)
OPTIONAL = {
    "zstd": ("zstandard", "zstandard", ".ncu-repz and other files packed with Zstandard"),
    "parquet": ("pyarrow", "pyarrow", "findings.parquet beside findings.csv of a batch"),
    "dask": ("distributed", "distributed", "a batch on a Dask cluster, and addresses such as s3://"),
    "trackers": ("github", "PyGithub", "tickets and comments on GitHub, GitLab, Jira and Redmine"),
    "mcp": ("mcp", "mcp", "agents and editors: triage mcp"),
}


def short() -> str:
    """Version, and the commit where this is a checkout: `triage 1.0.0 (4a79d4da1)`; `+` marks uncommitted changes."""
    at = commit(CHECKOUT)
    return f"triage {__version__}" + (f" ({at})" if at else "")


def commit(folder: Path) -> str:
    """Commit of a folder's checkout; empty where it is none, or without git."""
    if not (folder / ".git").exists():
        return ""
    ask = ["git", "-C", str(folder), "describe", "--always", "--abbrev=9", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(ask, capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def long() -> Iterator[str]:
    """Lines on the installation."""
    import platform

    yield short()
    yield f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield f"engine: {_engine()}"
    for extra, (module, package, use) in OPTIONAL.items():
        there = importlib.util.find_spec(module) is not None
        yield f"{extra}: " + (f"{package} {_installed(package)}" if there else f"not installed; for {use}")


def _engine() -> str:
    clips = f"CLIPS (clipspy {_installed('clipspy')})"
    try:
        importlib.import_module("durable_rules_engine")
    except ModuleNotFoundError:
        return f"{clips}; same answers as durable-rules, which is not installed (needs a C compiler: pip install 'sol-triage[durable]')"
    except ImportError as e:
        return f"{clips}; durable-rules cannot be loaded ({e}); same answers"
    return f"durable-rules {_installed('durable-rules')}; also {clips}, same answers"


def _installed(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
