"""`make hard`: damage, fuzz totals, leaks, fault matrix, engine agreement; `--nightly N` fuzzes N cases instead.

benchmarks/hard.py                     20 seeds of damage, 20,000 fuzz cases, 5,000 calls, the matrices, 50,000 signatures
benchmarks/hard.py --nightly 500000    more cases, other ones every night (--start)
benchmarks/hard.py --case 1234         one case again, with its traceback; its files are left in out/case
benchmarks/hard.py --only damage       damage, fuzz, leak, faults or engines alone
benchmarks/hard.py --only spreadsheet  all 87 kinds of damage: three seeds, the silent ones printed; else an eighth, one seed (--each, --budget, --listed)
benchmarks/hard.py --only strangers    templates, histories, paths of agents, settings, and a minute of races of links
benchmarks/hard.py --only damage --part 2/3    every third export, from the second on: three machines make the whole
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import itertools
import multiprocessing
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.helpers import fuzzing  # noqa: E402

LOOKS_RIGHT = 0.03  # of the damaged exports at most
SILENT = 0.002  # at most, as runs on exports new to the reader found: no goal, a step that is lowered and never raised
SHEETS = 8  # every so many exports, and one seed, where all campaigns run
CASES, SIGNATURES = 20_000, 50_000
MEMORY = 4 << 30  # address space of a fuzzing process
BLOCK = 500
BUDGET = 1_800  # seconds of fuzzing
HOWS = ("refused", "remarked", "same", "missing", "right", "silent")  # as tests/helpers/damage.py names outcomes
EACH = 4  # exports of a layout that meet a kind of damage: 132 of the samples are of one tool


def pool() -> tuple[list[fuzzing.Seed], list[str]]:
    from triage import dialects

    return fuzzing.seeds(), sorted(dialects.dialects())


def campaign(start: int, count: int) -> dict[str, Any]:
    """A block of cases in a process of its own, so that a death by signal is seen as well."""
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seeds, names = pool()
    judge = fuzzing.Judge(seconds=20)
    with tempfile.TemporaryDirectory() as folder:
        tally = judge.run((fuzzing.case(i, seeds, names) for i in range(start, start + count)), Path(folder) / "case")
    faults = [(c.number, c.seed, c.dialect, kind, trace.strip().splitlines()[-3:]) for c, kind, trace in tally.faults]
    return {"reports": tally.reports, "refused": tally.refused, "slowest": tally.slowest, "faults": faults, "leaks": len(judge.leaks),
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}  # fmt: skip


def fuzz(start: int, count: int, jobs: int, budget: float) -> bool:
    began, done = time.monotonic(), []
    died = 0
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as workers:
        todo = [(i, min(BLOCK, start + count - i)) for i in range(start, start + count, BLOCK)]
        running: set[Any] = set()
        while todo or running:
            while todo and len(running) < jobs and time.monotonic() - began < budget:
                running.add(workers.submit(campaign, *todo.pop(0)))
            if not running:
                break
            finished, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for f in finished:
                if f.exception() is None:
                    done.append(f.result())
                else:
                    died += 1
                    print(f"fuzz: a process died: {f.exception()}")
            print(
                f"\r{sum(d['reports'] + d['refused'] + len(d['faults']) for d in done):,} cases",
                end="",
                file=sys.stderr,
                flush=True,
            )
    print(file=sys.stderr)
    faults = [x for d in done for x in d["faults"]]
    total = sum(d["reports"] + d["refused"] for d in done) + len(faults)
    for number, seed, dialect, kind, trace in faults[:20]:
        print(f"  case {number} ({seed}{', as ' + dialect if dialect else ''}): {kind}\n    " + "\n    ".join(trace))
    print(f"fuzz: {total:,} of {count:,} cases (from {start}) over {len(pool()[0])} exports: {sum(d['reports'] for d in done):,} reports, "
          f"{sum(d['refused'] for d in done):,} one-line errors, {len(faults)} faults, {died} dead processes; slowest case {max((d['slowest'] for d in done), default=0):.1f} s, "
          f"peak {max((d['peak'] for d in done), default=0)} MB; bytes of files seen by the C engine: {sum(d['leaks'] for d in done)}; {time.monotonic() - began:.0f} s")  # fmt: skip
    if total < count:
        print(f"fuzz: the time budget of {budget:.0f} s ended the campaign early")
    return not faults and not died


def faults() -> bool:
    """The fault matrix and the hostile texts, as the test suite holds them."""
    good = True
    for file, title in (
        ("contracts/test_faults.py", "fault matrix"),
        ("contracts/test_hostile.py", "hostile texts"),
        ("repository/test_wheel.py", "packaging"),
        ("contracts/test_robustness.py", "field report: patterns, leaks, cache, links, redirects, devices"),
        ("contracts/test_forged_reports.py", "reports and cubins that claim more than their bytes"),
        ("contracts/test_forged_databases.py", "databases that claim more than their bytes"),
        ("contracts/test_terminal_escapes.py", "escape sequences through every command"),
        ("contracts/test_metamorphic.py", "what changes nothing"),
        ("rendering/test_template_bounds.py", "templates of strangers"),
        ("commands/test_mcp.py", "paths and races of agents"),
        ("products/test_project.py", "settings of strangers"),
    ):
        p = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "-rA", f"tests/{file}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        rows: dict[str, dict[str, int]] = {}
        for outcome, name in re.findall(
            r"^(PASSED|FAILED|ERROR|SKIPPED) (?:\[\d+\] )?tests/[\w/]+\.py(?:::|:)(\w+)", p.stdout, re.MULTILINE
        ):
            counts = rows.setdefault(name.removeprefix("test_").replace("_", " "), {})
            counts[outcome.lower()] = counts.get(outcome.lower(), 0) + 1
        print(f"{title}: {p.stdout.strip().splitlines()[-1].strip('= ')}")
        for name, counts in rows.items():
            print(f"  {name:72} " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())))
        good &= p.returncode == 0
    return good


def damaged(seed: fuzzing.Seed, seeds: int) -> list[Any]:
    """Outcomes of every kind of damage to one export."""
    from tests.helpers import damage as damaging

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(damaging.campaign(seed, Path(folder) / "case", seeds))


def damage(seeds: int, jobs: int, part: str) -> bool:
    """Every kind of damage to every export, `seeds` times each: no value may change without a word."""
    from tests.conftest import CORPUS, SAMPLES
    from tests.helpers import damage as damaging

    began, tally, silent = time.monotonic(), collections.Counter[str](), []
    number, parts = map(int, part.split("/"))
    found = damaging.exports(*(p for p in (SAMPLES, CORPUS) if p.is_dir()))[number - 1 :: parts]
    read = 0
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as workers:
        for n, outcomes in enumerate(workers.map(damaged, found, [seeds] * len(found)), 1):
            read += bool(outcomes)
            tally.update(o.how for o in outcomes)
            for o in (o for o in outcomes if o.how == "silent"):
                silent.append(o)
                print(f"  silent: {o.label}, {o.kind} {o.seed}: {o.what}", flush=True)
            if n % 10 == 0 or n == len(found):
                print(
                    f"  {n} of {len(found)} files, {sum(tally.values()):,} damaged exports", file=sys.stderr, flush=True
                )
    print(f"damage: {len(silent)} silent changes in {sum(tally.values()):,} damaged exports ({len(damaging.KINDS)} kinds, {seeds} seeds, {read} exports, part {part}): "
          f"{tally['refused']:,} refused, {tally['remarked']:,} remarked, {tally['same']:,} with the same values; {time.monotonic() - began:.0f} s")  # fmt: skip
    return not silent


def spread(seed: fuzzing.Seed, kinds: tuple[str, ...], seeds: int, start: int) -> list[Any]:
    """Outcomes of some kinds of damage, by their names, to one export."""
    from tests.helpers import damage as damaging
    from tests.helpers.spreadsheet_damage import EVERY_KIND

    chosen = tuple(k for k in EVERY_KIND if k.__name__ in kinds)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(damaging.campaign(seed, Path(folder) / "case", seeds, chosen, start))


def spreadsheet(
    seeds: int, jobs: int, part: str, start: int = 0, each: int = EACH, listed: str = "", budget: float = float("inf")
) -> bool:
    """All kinds of damage, those of spreadsheets too, to every export; False where more pass in silence, or look right, than are known to.

    Of exports that begin alike, `each` meet a kind, others another: one tool does not outweigh the rest. What looks right
    (tests/helpers/looks_right.py) is counted apart: nothing but a second figure can tell it. listed: a file that takes both, a line each.
    """
    from tests.conftest import CORPUS, SAMPLES
    from tests.helpers import damage as damaging
    from tests.helpers.spreadsheet_damage import EVERY_KIND

    began = time.monotonic()
    tally, weighed = collections.Counter[tuple[str, str]](), collections.Counter[str]()
    number, parts = map(int, part.split("/"))
    kinds = tuple(k.__name__ for k in EVERY_KIND)
    seen = damaging.exports(*(p for p in (SAMPLES, CORPUS) if p.is_dir()))[number - 1 :: parts]
    shares = list(damaging.shared_out(seen, kinds, each))
    random.Random(start).shuffle(shares)  # what a time budget leaves is as mixed as the whole
    found, some, weights = zip(*shares, strict=True)
    with (
        concurrent.futures.ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as workers,
        open(listed or os.devnull, "w", encoding="utf-8") as log,
    ):
        every = workers.map(spread, found, some, itertools.repeat(seeds), itertools.repeat(start))
        for done, (weight, outcomes) in enumerate(zip(weights, every, strict=True), 1):
            for o in outcomes:
                tally[o.kind, o.how] += 1
                weighed[o.how] += weight
                if o.how in ("silent", "right"):
                    print(f"{o.how}: {o.label}, {o.kind} {o.seed}: {o.what}", file=log, flush=True)
                if o.how == "silent":
                    print(f"  silent: {o.label}, {o.kind} {o.seed}: {o.what}", flush=True)
            if time.monotonic() - began > budget and done < len(found):
                print(
                    f"spreadsheet: the time budget of {budget:.0f} s ended the campaign after {done} of {len(found)} exports"
                )
                workers.shutdown(wait=False, cancel_futures=True)
                break
    print(
        f"spreadsheet: {len(kinds)} kinds, {seeds} seeds, {len(found)} exports, {each} of a layout per kind, part {part}; {time.monotonic() - began:.0f} s"
    )
    return _held(tally, weighed)


def _held(tally: collections.Counter[tuple[str, str]], weighed: collections.Counter[str]) -> bool:
    """Prints outcomes by kind and in total; True where few enough are silent or look right. weighed: as of all kinds on all exports."""
    by_kind: dict[str, list[str]] = {}
    for (kind, how), n in sorted(tally.items(), key=lambda at: HOWS.index(at[0][1])):
        by_kind.setdefault(kind, []).append(f"{n} {how}")
    for kind, texts in sorted(by_kind.items()):
        print(f"  {kind:24} {', '.join(texts)}")
    counts = {how: sum(n for (_, h), n in tally.items() if h == how) for how in HOWS}
    plain, whole = ({how: n[how] / max(1, sum(n.values())) for how in HOWS} for n in (counts, weighed))
    print(f"spreadsheet: {sum(counts.values()):,} damaged exports: {', '.join(f'{n:,} {how}' for how, n in counts.items())}; "
          f"{plain['silent']:.2%} silent, {plain['right']:.1%} look right; "
          f"estimated for all kinds on all exports: {whole['silent']:.2%} silent, {whole['right']:.1%} look right")  # fmt: skip
    return whole["silent"] <= SILENT and whole["right"] <= LOOKS_RIGHT


def strangers(race: float) -> bool:
    """Every attack of tests/helpers/strangers.py: in a report or one line, within its time, nothing from outside."""
    from tests.helpers import strangers as attacking

    began, tally = time.monotonic(), collections.Counter[tuple[str, str]]()
    slowest: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for attack in attacking.attacks(Path(folder), race):
            ended, kind = attacking.judge(attack), attack.name.split()[0]
            tally[kind, "beyond" if ended.wrong else ended.how] += 1
            slowest[kind] = max(slowest.get(kind, 0), ended.cpu)
            if ended.wrong:
                print(f"  {ended.attack[:120]}: {ended.wrong}", flush=True)
    for kind, most in slowest.items():
        text = ", ".join(f"{n} {how}" for (k, how), n in sorted(tally.items()) if k == kind)
        print(f"  {kind:10} {text}; slowest {most:.1f} s of a core")
    beyond = sum(n for (_, how), n in tally.items() if how == "beyond")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(
        f"strangers: {beyond} of {sum(tally.values())} beyond their bounds; largest process {peak:,} MB; {time.monotonic() - began:.0f} s"
    )
    return not beyond


def leaked(engine: str, threads: int, calls: int) -> tuple[int, ...]:
    """What calls of the front door leave behind, each reading its file anew."""
    from tests.conftest import SAMPLES
    from tests.helpers import leaks
    from triage import api

    path = SAMPLES / "compare" / "table1_after.csv"
    return tuple(leaks.grown(lambda: api.diagnose(path, engine=engine), calls, threads))


def leak(calls: int) -> bool:
    """Many diagnoses in one process, with each engine, from one thread and from eight; within 50 MB of the hundredth."""
    good = True
    for engine in ("durable", "clips"):
        for threads in (1, 8):
            began = time.monotonic()
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as worker:
                kb, files, alive = worker.submit(leaked, engine, threads, calls).result()
            good &= kb < 50_000 and files <= 0 and alive <= 0
            print(f"leak: {calls:,} diagnoses, {engine}, {threads} threads: {kb / 1024:+.1f} MB, {files:+d} files, {alive:+d} threads "
                  f"since the hundredth; {time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    return good


def engines(wanted: int) -> bool:
    from tests.conftest import CORPUS, SAMPLES
    from tests.contracts.test_engines_agree import compare_captures, compare_signatures, exports
    from triage.rulebook import packs

    began, book = time.monotonic(), packs.load()
    folders = [p for p in (SAMPLES, CORPUS) if p.is_dir()]
    captures, differ = compare_captures(book, exports(*folders))
    signatures, other = compare_signatures(book, wanted)
    for text in (differ + other)[:20]:
        print(f"  differs: {text}")
    print(f"engines: durable-rules and CLIPS agree on {captures - len(differ)} of {captures} exports and {signatures - len(other):,} of {signatures:,} "
          f"random signatures over {len(book.rules)} rules; {time.monotonic() - began:.0f} s")  # fmt: skip
    return not differ and not other


def again(number: int) -> bool:
    """One case, loudly."""
    seeds, names = pool()
    c = fuzzing.case(number, seeds, names)
    path = fuzzing.lay(c, ROOT / "out" / "case")
    print(f"case {number}: {c.seed}, {c.dialect or 'detected'}: {path}")
    warnings.simplefilter("error")
    print(fuzzing.Judge().one(path, c.dialect))
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nightly", type=int, metavar="N", help="fuzz N cases, without a time budget")
    parser.add_argument(
        "--start", type=int, default=0, help="number of the first case, or of the first seed of spreadsheet"
    )
    parser.add_argument("--case", type=int, help="repeat one case")
    parser.add_argument("--only", choices=["damage", "spreadsheet", "strangers", "fuzz", "leak", "faults", "engines"])
    parser.add_argument("--seeds", type=int, default=20, help="seeds of every kind of damage on every export")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="damage every N-th export only, from the K-th on")
    parser.add_argument(
        "--each", type=int, default=EACH, help="exports of a layout that meet a kind of damage, in spreadsheet"
    )
    parser.add_argument(
        "--listed", default="", metavar="FILE", help="takes what was silent or looks right, in spreadsheet"
    )
    parser.add_argument("--calls", type=int, default=5_000, help="diagnoses in one process, in the search for leaks")
    parser.add_argument("--race", type=float, default=60, help="seconds of races of links")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, help="seconds for the campaign of fuzz (1800) or spreadsheet (none)")
    a = parser.parse_args()
    if a.case is not None:
        sys.exit(not again(a.case))
    good = True
    if a.only in (None, "damage"):
        good &= damage(a.seeds, a.jobs, a.part)
    if a.only == "spreadsheet":
        good &= spreadsheet(min(a.seeds, 3), a.jobs, a.part, a.start, a.each, a.listed, a.budget or float("inf"))
    elif a.only is None:
        good &= spreadsheet(1, a.jobs, f"1/{SHEETS}")
    if a.only in (None, "strangers"):
        good &= strangers(a.race)
    if a.only in (None, "fuzz"):
        good &= fuzz(a.start, a.nightly or CASES, a.jobs, float("inf") if a.nightly else a.budget or BUDGET)
    if a.only in (None, "leak"):
        good &= leak(a.calls)
    if a.only in (None, "faults"):
        good &= faults()
    if a.only in (None, "engines"):
        good &= engines(SIGNATURES)
    sys.exit(not good)


if __name__ == "__main__":
    main()
