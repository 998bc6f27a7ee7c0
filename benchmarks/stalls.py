"""How many stalls of Nsight Compute reports are followed to the instruction that they wait for.

    python benchmarks/stalls.py REPORT|FOLDER ...
    python benchmarks/stalls.py --against LISTING ... [-- REPORT|FOLDER ...]
    python benchmarks/stalls.py --words REPORT > words.tsv

The first prints coverage: of the samples with a scoreboard reason, those whose instruction awaits a scoreboard, whose
producer is found, is of a kind that fits the reason, is read by the waiting instruction, and is one instruction alone; of
the pairs of producer and waiter, those that share a register; of the global accesses among the producers, those whose
kernel argument is named. --against holds opcode, registers, jump targets and control bits against a disassembler's text
(benchmarks/listing.py), and the words of reports against its bits. --words prints every instruction of every cubin -
section, offset, opcode, mnemonic, register written, jump target, scoreboards set and awaited.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import listing  # noqa: E402

from triage.capture.location import Location  # noqa: E402
from triage.capture.source import Source  # noqa: E402
from triage.dialects.nvidia.report import code, container  # noqa: E402
from triage.dialects.nvidia.report.container import Contents  # noqa: E402
from triage.dialects.nvidia.report.hot_spots import Spots  # noqa: E402
from triage.dialects.nvidia.report.stall_samples import reasons, summed  # noqa: E402
from triage.dialects.nvidia.sass import arguments  # noqa: E402
from triage.dialects.nvidia.sass.body import BYTES, Body  # noqa: E402
from triage.dialects.nvidia.sass.producers import AWAITED, producers, used  # noqa: E402
from triage.ground.errors import TriageError  # noqa: E402

SUFFIXES = (".ncu-rep", ".ncu-repz")


def reports(names: list[str]) -> Iterator[tuple[Path, Contents]]:
    """Every report of some files and folders that can be read."""
    for name in names:
        path = Path(name)
        for file in sorted(f for f in path.rglob("*") if f.suffix in SUFFIXES) if path.is_dir() else [path]:
            try:
                yield file, container.load(Source(str(file)))
            except TriageError as e:
                print(e, file=sys.stderr)


def words(names: list[str]) -> None:
    """Every instruction, one a line."""
    for path, contents in reports(names):
        for number, found in code.read(contents).items():
            for i, section in enumerate(found.elf.sections if found.elf else ()):
                body = found.body(i) if section.name.startswith(".text") else None
                for at in range(len(body) if body else 0):
                    _print(path, number, section.name, body, at)


def _print(path: Path, number: int, section: str, body: Body, at: int) -> None:
    word = body.word(at)
    to = "" if word.target is None else f"{(at + 1) * BYTES + word.target:#x}"
    written = "" if word.destination == 255 else f"{'U' if word.uniform else ''}R{word.destination}"
    row = (path, number, body.sm, section, f"{at * BYTES:#x}", f"{word.opcode:#05x}", word.name.mnemonic, written, to)
    print(*row, f"{body.sets[at]:06b}", f"{body.awaited(at):06b}", sep="\t")


def coverage(names: list[str]) -> None:
    """The table of shares, by reason."""
    counts: dict[str, Counter[str]] = {r: Counter() for r in AWAITED}
    places: Counter[str] = Counter()
    files = launches = 0
    began = time.process_time()
    for _, contents in reports(names):
        files += 1
        spots = Spots(contents)
        for row in range(len(contents)):
            launches += _launch(spots, row, counts)
            places.update(map(_answer, spots(row, ["stall.top_share"])))
    spent = time.process_time() - began
    print(f"{files} reports, {launches} launches with samples; {spent:.2f} s CPU, reading included")
    print(
        f"places that wait for a scoreboard: {places['named']} name a producer, {places['why']} say why not, {places['']} neither"
    )
    for reason, n in counts.items():
        print(f"{reason.replace('_', ' ')}: {n['samples']:,.0f} samples at {n['waiters']:,} instructions")
        for what in (
            "code at hand",
            "await a scoreboard",
            "a producer is found",
            "of the expected kind",
            "read by the waiter",
            "one producer",
        ):
            print(f"  {what:<24}{share(n[what], n['samples'])}")
        print(f"  {'share a register':<24}{share(n['pairs sharing'], n['pairs'])} of {n['pairs']:,} pairs")
        print(f"  {'argument named':<24}{share(n['named'], n['asked'])} of {n['asked']:,} global accesses")


def _answer(place: Location) -> str:
    """What is said of a place that mostly waits for a scoreboard; "other" for other places."""
    if place.reason.replace(" ", "_") not in AWAITED:
        return "other"
    return "named" if place.waits_for else "why" if place.waits_unknown else ""


def _launch(spots: Spots, row: int, counts: dict[str, Counter[str]]) -> bool:
    launch = spots.launch(row)
    if launch is None:
        return False
    found, where, _ = launch
    any_ = False
    for reason, n in counts.items():
        name = reasons(found).get(reason)
        pcs, samples = summed(*found.values(name)) if name else ([], [])
        for pc, count in zip(list(pcs), list(samples), strict=True):
            if not count:
                continue
            any_ = True
            n["waiters"] += 1
            n["samples"] += count
            if (at := where.instruction(int(pc))) is not None:
                _waiter(*at, reason, count, n, where.arguments)
    return any_


def _waiter(body: Body, at: int, reason: str, count: float, n: Counter[str], known: list[arguments.Argument]) -> None:
    found = producers(body, at, reason)
    kinds = [body.word(i).name.kind for i in found]
    n["code at hand"] += count
    n["await a scoreboard"] += count * bool(body.awaited(at))
    n["a producer is found"] += count * bool(found)
    n["of the expected kind"] += count * any(k in AWAITED[reason] for k in kinds)
    shared = [used(body, i, at) for i in found]
    n["read by the waiter"] += count * any(shared)
    n["one producer"] += count * (len(found) == 1)
    n["pairs"] += len(found)
    n["pairs sharing"] += sum(shared)
    for i, kind in zip(found, kinds, strict=True):
        if kind.startswith("global") and known:
            n["asked"] += 1
            n["named"] += arguments.argument(body, i, known) is not None


def share(part: float, whole: float) -> str:
    """A percentage, or a dash."""
    return f"{part / whole:8.2%}" if whole else "       -"


def against(names: list[str]) -> None:
    """Equal fields of listings; of reports, the instructions whose bits a listing has at the same place."""
    cut = names.index("--") if "--" in names else len(names)
    total: Counter[str] = Counter()
    differing: list[str] = []
    for name in names[:cut]:
        total.update(listing.compare(Path(name), differing))
    print(f"{cut} listings, {total['instructions']:,} instructions")
    for field in listing.FIELDS:
        print(f"  {field:<24}{share(total[field], total['instructions'])}")
    print(*differing[:20], sep="\n", end="\n" if differing else "")
    if cut < len(names):
        same, all_ = _same_words([Path(n) for n in names[:cut]], names[cut + 1 :])
        print(f"words of reports that a listing has: {all_:,}, equal {share(same, all_).strip()}")


def _same_words(listings: list[Path], names: list[str]) -> tuple[int, int]:
    known: dict[tuple[str, int], set[tuple[int, int]]] = {}
    for path in listings:
        for x in listing.lines(path):
            known.setdefault((x.function, x.offset), set()).add((int(x.low, 16), int(x.high, 16)))
    same = all_ = 0
    for _, contents in reports(names):
        for found in code.read(contents).values():
            for i, section in enumerate(found.elf.sections if found.elf else ()):
                body = found.body(i) if section.name.startswith(".text.") else None
                for at in range(len(body) if body else 0):
                    there = known.get((section.name.removeprefix(".text."), at * BYTES))
                    all_ += there is not None
                    same += there is not None and (body.low[at], body.high[at]) in there
    return same, all_


if __name__ == "__main__":
    given = sys.argv[1:]
    if not given or (given[0] in ("--words", "--against") and len(given) < 2):
        sys.exit(__doc__)
    {"--words": words, "--against": against}.get(given[0], lambda _: coverage(given))(given[1:])
