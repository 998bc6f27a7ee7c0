"""Where nvcc and ncu are, how they are called, and what they said."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
NO_DEVICE = 3  # exit status of a pair that finds no GPU (common.cuh)
TIMEOUT_S = 900  # a `--set full` run of one kernel takes seconds to a minute; a hang must not stop the rest


class StepError(Exception):
    """One step for one kernel failed; the message is one line."""


class NoDeviceError(StepError):
    """There is no GPU here: no other kernel will do better."""


def find(tool: str) -> str | None:
    """Path of a CUDA tool: PATH first, then where the installers put it."""
    on_path = shutil.which(tool)
    if on_path:
        return on_path
    homes = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    places = [Path(home) / "bin" / tool for home in homes if home]
    places += sorted(Path("/opt/nvidia/nsight-compute").glob(f"*/{tool}"), reverse=True)
    return next((str(p) for p in places if os.access(p, os.X_OK)), None)


def run(command: Sequence[str], what: str) -> str:
    """Standard output of a command; a failure becomes one line that names the step."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise StepError(f"{what}: no answer within {TIMEOUT_S} s") from None
    except OSError as error:
        raise StepError(f"{what}: {error}") from None
    if done.returncode == 0:
        return done.stdout
    message = f"{what}: {complaint(done.stderr + done.stdout) or f'exit status {done.returncode}'}"
    raise (NoDeviceError if done.returncode == NO_DEVICE else StepError)(message)


def complaint(output: str) -> str:
    """The line of a tool's output that says what went wrong."""
    # A pair's own JSON lines say "error" also when all is well; only a failed check is a complaint.
    lines = [x.strip() for x in output.splitlines() if x.strip() and (x[0] != "{" or '"ok": false' in x)]
    if any("ERR_NVGPUCTRPERM" in line for line in lines):
        return "the driver denies access to performance counters (ERR_NVGPUCTRPERM): run as root or allow it"
    wrong = [x for x in lines if re.search(r'\berror\b|==ERROR==|"ok": false', x, re.IGNORECASE)]
    return (wrong or lines[-1:] or [""])[0]


def compile_command(nvcc: str, source: Path, binary: Path, arch: str) -> list[str]:
    """The one way in which a pair is built; -lineinfo lets a report point at source lines."""
    return [nvcc, "-O3", "-std=c++17", f"-arch={arch}", "-lineinfo", f"-I{KERNELS}", "-o", str(binary), str(source)]


def profile_command(ncu: str, report: Path, kernel: str, launches: int, binary: Path, side: str) -> list[str]:
    """Record one kernel, every section, into a report file."""
    return [ncu, "--set", "full", "--force-overwrite", "-o", str(report), "--kernel-name", kernel,
            "--launch-count", str(launches), str(binary), "--which", side]  # fmt: skip


def import_command(ncu: str, report: Path, page: str) -> list[str]:
    """Print one page of a report file as CSV."""
    return [ncu, "--import", str(report), "--csv", "--page", page]


def parse_runs(output: str) -> dict[str, dict[str, object]]:
    """The JSON lines of a pair's output, by side (`slow`, `fixed`)."""
    runs: dict[str, dict[str, object]] = {}
    for line in output.splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            runs[entry["which"]] = entry
    return runs


def table(output: str, kernel: str) -> str:
    """The CSV table of an import, without the preamble; refuses a table without the kernel."""
    start = re.search(r'^"?ID"?,', output, re.MULTILINE)
    if not start:
        raise StepError(f"{kernel}: the import has no table")
    text = output[start.start() :]
    if kernel not in text:
        raise StepError(f"{kernel}: the export does not name this kernel")
    return text


def version(tool: str) -> str:
    """What the tool says about itself: the line with the version number."""
    lines = run([tool, "--version"], f"{Path(tool).name} --version").splitlines()
    return next((x.strip() for x in lines if re.search(r"\d+\.\d+", x) and "opyright" not in x), "unknown")


def driver() -> str:
    """Driver version, when nvidia-smi is there to say."""
    smi = find("nvidia-smi")
    if smi is None:
        return "unknown"
    try:
        said = run([smi, "--query-gpu=driver_version", "--format=csv,noheader"], "nvidia-smi")
    except StepError:
        return "unknown"
    return said.split("\n")[0].strip()
