"""Measure the pairs: compile, check, time and profile every pair, write exports/ and truth.csv.

    python measure.py                              # everything, for the GPU of this machine
    python measure.py --compile-only --arch sm_90  # no GPU needed
    python measure.py --no-profile                 # check and time; writes no file

Exit status: 0 every pair measured, 1 some failed (one line each, the rest went on), 2 nothing could be done.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # also when loaded from elsewhere, as the tests do

import toolchain as tc
from defects import DEFECTS, Defect, unmeasured

COLUMNS = (
    "defect", "kernel", "fixed_kernel", "fix", "expected_rules", "slow_ns", "fixed_ns", "speedup", "device",
)  # fmt: skip
PAGES = ("raw", "details")
IDENTITY = ("device", "cc", "sms", "driver", "ncu", "nvcc")  # exports of one folder agree in all of these


def say(line: str) -> None:
    """One line of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def write_whole(path: Path, text: str) -> None:
    """Write beside the target, then rename: a reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def compile_all(wanted: list[Defect], nvcc: str, arch: str, build: Path, jobs: int) -> dict[str, str]:
    """Build every pair; defect -> complaint for those that do not build."""
    build.mkdir(parents=True, exist_ok=True)

    def one(defect: Defect) -> str:
        source = tc.KERNELS.with_name(defect.folder) / f"{defect.name}.cu"
        try:
            tc.run(tc.compile_command(nvcc, source, build / defect.name, arch), "compile")
        except tc.StepError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(jobs) as pool:
        complaints = list(pool.map(one, wanted))
    return {defect.name: text for defect, text in zip(wanted, complaints, strict=True) if text}


def time_pair(defect: Defect, build: Path, reps: int) -> dict[str, dict[str, object]]:
    """Check both results, then time both kernels without a profiler."""
    binary = str(build / defect.name)
    tc.run([binary, "--check"], "check")
    runs = tc.parse_runs(tc.run([binary, "--time", str(reps)], "time"))
    if set(runs) != {"slow", "fixed"}:
        raise tc.StepError("time: the program did not report both kernels")
    return runs


def profile_pair(defect: Defect, ncu: str, build: Path) -> tuple[dict[str, str], list[str]]:
    """Exports of both kernels (file name -> text) and the commands that made them."""
    exports: dict[str, str] = {}
    commands: list[str] = []
    # A kernel has files of its own, so that a finding about the whole file belongs to one side.
    for kernel, side, launches in ((defect.slow, "slow", defect.launches), (defect.fixed, "fixed", 1)):
        report = build / f"{kernel}.ncu-rep"
        command = tc.profile_command(ncu, report, kernel, launches, build / defect.name, side)
        tc.run(command, f"ncu {kernel}")
        commands.append(shown(command))
        for page in PAGES:
            command = tc.import_command(ncu, report, page)
            exports[f"{kernel}.{page}.csv"] = tc.table(tc.run(command, f"ncu --page {page} {kernel}"), kernel)
            commands.append(shown(command))
    return exports, commands


def shown(command: list[str]) -> str:
    """A command as documentation: file names without this machine's folders."""
    return " ".join(Path(word).name if "/" in word else word for word in command)


def truth_row(defect: Defect, runs: dict[str, dict[str, object]]) -> dict[str, str]:
    """One line of truth.csv."""
    slow, fixed = (float(str(runs[side]["median_ns"])) for side in ("slow", "fixed"))
    if slow <= 0 or fixed <= 0:
        raise tc.StepError("time: a duration is not positive")
    row = (defect.name, defect.slow, defect.fixed, defect.fix, " ".join(defect.rules),
           f"{slow:.0f}", f"{fixed:.0f}", f"{slow / fixed:.3f}", str(runs["slow"]["device"]))  # fmt: skip
    return dict(zip(COLUMNS, row, strict=True))


def read_truth(path: Path) -> dict[str, dict[str, str]]:
    """Rows of an earlier run, by defect."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["defect"]: row for row in csv.DictReader(file)}


def truth_text(rows: dict[str, dict[str, str]]) -> str:
    """truth.csv, in the order of the defect table."""
    lines = [",".join(COLUMNS)]
    for defect in (*DEFECTS, *unmeasured()):
        if defect.name in rows:
            cells = [rows[defect.name][column] for column in COLUMNS]
            lines.append(",".join(f'"{c}"' if re.search(r'[,"]', c) else c for c in cells))
    return "\n".join(lines) + "\n"


def read_device(out: Path) -> dict[str, object]:
    """device.json of an earlier run, or nothing."""
    path = out / "device.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def publish(out: Path, device: dict[str, object], exports: dict[str, str], row: dict[str, str]) -> None:
    """Put one defect's files in place; truth.csv comes last, so it never names a missing export."""
    for name, text in exports.items():
        write_whole(out / "exports" / name, text)
    write_whole(out / "device.json", json.dumps(device, indent=2, sort_keys=True) + "\n")
    rows = read_truth(out / "truth.csv")
    rows[row["defect"]] = row
    write_whole(out / "truth.csv", truth_text(rows))


def measure(wanted: list[Defect], options: argparse.Namespace, tools: dict[str, str]) -> int:
    """Measure each pair in turn; returns how many failed."""
    failed = 0
    device = read_device(options.out)
    for defect in wanted:
        try:
            runs = time_pair(defect, options.build, options.reps)
            row = truth_row(defect, runs)
            if not options.no_profile:
                here = {**tools, **{key: runs["slow"][key] for key in ("device", "cc", "sms")}}
                if device and any(device.get(key) != here[key] for key in IDENTITY):
                    raise tc.NoDeviceError(f"{options.out} has exports of another device; use another --out")
                exports, commands = profile_pair(defect, tools["ncu_path"], options.build)
                recorded = device.get("commands")
                made = {**(recorded if isinstance(recorded, dict) else {}), defect.name: commands}
                device = {**{key: here[key] for key in IDENTITY}, "reps": options.reps, "commands": made}
                publish(options.out, device, exports, row)
            say(f"{defect.name}: {row['slow_ns']} ns -> {row['fixed_ns']} ns, {float(row['speedup']):.2f}x")
        except tc.NoDeviceError as error:  # the same for every other pair
            sys.stderr.write(f"{defect.name}: {error}\n")
            raise
        except (tc.StepError, OSError, ValueError, KeyError) as error:
            failed += 1
            sys.stderr.write(f"{defect.name}: {error}\n")
    return failed


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure the ground-truth kernels on this machine's GPU.")
    parser.add_argument("--arch", help="GPU architecture, such as sm_90 (default: that of the GPU present)")
    parser.add_argument("--unmeasured", action="store_true", help="the pairs of unmeasured/, which gets their exports")
    parser.add_argument("--only", help="comma-separated defects (default: all)")
    parser.add_argument("--compile-only", action="store_true", help="build and stop; needs no GPU")
    parser.add_argument("--no-compile", action="store_true", help="use the programs already in --build")
    parser.add_argument("--no-profile", action="store_true", help="check and time only; writes no file")
    parser.add_argument("--reps", type=int, default=21, help="timed repetitions (default: 21)")
    parser.add_argument("--jobs", type=int, default=min(3, os.cpu_count() or 1), help="compilers at a time")
    parser.add_argument("--build", type=Path, default=Path(tempfile.gettempdir()) / "triage-ground-truth")
    parser.add_argument("--out", type=Path, help="gets exports/, device.json and truth.csv")
    options = parser.parse_args(argv)
    options.pairs = unmeasured() if options.unmeasured else DEFECTS
    options.out = options.out or (tc.HERE / "unmeasured" if options.unmeasured else tc.HERE)
    names = [defect.name for defect in options.pairs]
    options.names = options.only.split(",") if options.only else names
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"unknown defect {unknown[0]!r}; there are: {', '.join(names)}")
    if options.reps < 1 or options.jobs < 1:
        parser.error("--reps and --jobs must be at least 1")
    return options


def main(argv: list[str] | None = None) -> int:
    """Run the script; returns its exit status."""
    options = arguments(argv)
    wanted = [defect for defect in options.pairs if defect.name in options.names]
    nvcc, ncu = tc.find("nvcc"), tc.find("ncu")
    try:
        if nvcc is None and not options.no_compile:
            raise tc.StepError("nvcc not found: put it on PATH, or bring the programs and use --no-compile")
        if ncu is None and not (options.compile_only or options.no_profile):
            raise tc.StepError("ncu not found: put it on PATH, or use --no-profile to check and time only")
        broken: dict[str, str] = {}
        if nvcc and not options.no_compile:
            arch = options.arch or ("sm_90" if options.compile_only else "native")
            broken = compile_all(wanted, nvcc, arch, options.build, options.jobs)
            for name, text in broken.items():
                sys.stderr.write(f"{name}: {text}\n")
            say(f"compiled {len(wanted) - len(broken)} of {len(wanted)} for {arch}")
        failed = len(broken)
        if not options.compile_only:
            tools = {"driver": tc.driver(), "ncu": tc.version(ncu) if ncu else "", "ncu_path": ncu or "",
                     "nvcc": tc.version(nvcc) if nvcc else "none"}  # fmt: skip
            failed += measure([i for i in wanted if i.name not in broken], options, tools)
    except tc.NoDeviceError:
        return 2
    except tc.StepError as error:
        sys.stderr.write(f"measure.py: {error}\n")
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
