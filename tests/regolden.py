"""Rewrite tests/golden from today's output: python tests/regolden.py [NAME...]. The diff is the review.

JSON and terminal are kept for every sample, the other formats for the samples of `EVERY_FORMAT`. JSON is folded: what
repeats is written once (helpers/folded_json.py). Reports name the rules by a digest of their files; golden files hold
zeros in its place and one version of the package, so that they change only where a sentence or a number changes.
"""

import functools
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # a script finds what lies beside it, not the package
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.conftest import FORMATS, ROOT, SAMPLES
from tests.helpers import folded_json
from triage import __version__
from triage.rendering.html import packing

GOLDEN = ROOT / "tests" / "golden"
VERSION = "0.1.0"  # as golden files write it
THRESHOLDS = GOLDEN / "thresholds.tsv"
BESIDE = {".md", ".txt", ".py", ".toml", ".yaml", ".tsv", ".nsys-rep"}  # notes and tools beside the samples
LARGEST = 2_000_000  # bytes of an export whose reports are kept
FOR_ALL = ("json", "terminal")
# one sample of each kind of report, kept in every format
EVERY_FORMAT = {
    "gpu-trace.demo_frame",  # a frame
    "ncu-details.solver-2021",  # kernels
    "nsys-sqlite.training_two_gpus",  # a timeline
    "rocprof-compute.four_kernels_mi210",  # AMD
    "intel-pti.metrics.4711",  # Intel
    "mobile.mali-frame",  # a phone
    "presentmon.game-gpu-bound",  # frame times
    "ncu-rep.transpose",  # places in the source
}
BRIEFS = {"vtune.kernels", "nvprof-metrics.metrics"}  # further samples whose brief is kept


@functools.cache
def samples() -> list[tuple[str, str]]:
    """(name, path from the project's root) of every sample that has golden files: no test needs to read all to be listed."""
    return [(name, path) for name, path in _entries() if (GOLDEN / f"{name}.json").exists()]


@functools.cache
def readable() -> list[tuple[str, str]]:
    """The same of every bundled export; a folder that is one export counts once."""
    return [(name, path) for name, path in _entries() if _readable(path)]


def _entries() -> list[tuple[str, str]]:
    out = []
    for dialect in sorted(p for p in SAMPLES.iterdir() if p.is_dir()):
        for entry in sorted(dialect.iterdir()):
            if entry.name.startswith((".", "_")) or (
                entry.is_file() and (entry.suffix in BESIDE - {".txt"} or entry.stem.isupper())
            ):
                continue
            size = entry.stat().st_size if entry.is_file() else 0
            if size <= LARGEST:
                out.append((f"{dialect.name}.{entry.stem}".replace(" ", "-"), str(entry.relative_to(ROOT))))
    return out


def formats_of(name: str) -> tuple[str, ...]:
    """The formats in which a sample's report is kept."""
    return FORMATS if name in EVERY_FORMAT else (*FOR_ALL, "brief") if name in BRIEFS else FOR_ALL


def _readable(path: str) -> bool:
    from triage import api
    from triage.ground.errors import TriageError

    try:
        return len(api.read(ROOT / path)) > 0
    except TriageError:
        return False


@functools.cache
def diagnosis(path: str) -> Any:
    from triage import api

    here = Path.cwd()
    os.chdir(ROOT)  # reports name the path as the user typed it
    try:
        d = api.diagnose(path)
        d.bundle  # noqa: B018 - everything is fetched now, while the path holds
        return d
    finally:
        os.chdir(here)


def made(path: str, fmt: str) -> str:
    """A sample's report as golden files keep it: without the rules' digest, JSON folded, pages without style and script."""
    from triage.rendering import formats

    parts: list[str] = []
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        d = diagnosis(path)
        formats.render(d.bundle, fmt, parts.append)
    finally:
        os.chdir(here)
    text = masked("".join(parts), d.book.sha256)
    if fmt == "json":
        return folded_json.dumps(folded_json.fold(json.loads(text)))
    return _light(text) if fmt == "html" else text


def masked(text: str, digest: str) -> str:
    """A report with zeros where it prints a digest, whole or shortened, and with one version of the package for all releases."""
    text = re.sub(rf"(sol-triage |\"version\":\"){re.escape(__version__)}", rf"\g<1>{VERSION}", text)
    return re.sub(rf"{digest[:8]}[0-9a-f]*", lambda m: "0" * len(m[0]), text)


PARTS = re.compile(r'<script type="text/plain" id="data-(\w+)">([\w+/=]*)</script>')


def opened(page: str) -> dict[str, Any]:
    """The packed parts of a page as plain data, by name."""
    return {m[1]: packing.read(m[2]) for m in PARTS.finditer(page)}


def _light(page: str) -> str:
    """A page without its style and script, which are the same in all and have files of their own under reports/.

    Its packed data is written out, a line per entry: what a compressor makes of it differs between versions.
    """
    page = PARTS.sub(lambda m: f"<data {m[1]}>\n{_spread(m[2])}\n</data>", page)
    page = re.sub(r"<style>.*?</style>", "<style></style>", page, count=1, flags=re.DOTALL)
    page = re.sub(r"<script>.*?</script>", "<script></script>", page, count=1, flags=re.DOTALL)
    return re.sub(r"sha256-[\w+/]{43}=", "sha256-", page)  # of style and script, in the content security policy


def _spread(packed: str) -> str:
    data = packing.read(packed)
    return "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in data.items())


def thresholds() -> str:
    """Where every threshold turns its rule, a line each: tests/rules/test_threshold_boundaries.py checks the rules against it."""
    from triage.products.rule_checks import boundary
    from triage.rulebook import packs

    lines: dict[tuple[str, ...], list[str]] = {}
    for rule in packs.load(tests=True).rules:
        for method, _, _, b in boundary.boundaries(rule):
            if b:
                also = " ".join(f"{k}={number(v)}" for k, v in b.start.also.items()) or "-"
                sides = (b.metric, number(b.fires), number(b.stops), b.then)
                lines.setdefault((b.rule, b.threshold, b.condition, b.start.test, also, *sides), []).append(method)
    head = "rule threshold condition test also metric fires stops then methods".split()
    return "".join("\t".join(cells) + "\n" for cells in (head, *((*k, " ".join(v)) for k, v in lines.items())))


def number(value: float) -> str:
    """A fact as golden files write it; `-` for none."""
    return "-" if value != value else repr(value)


def main(names: list[str]) -> None:
    """Write the golden files of the named samples, or of all; files of samples that are gone are removed."""
    GOLDEN.mkdir(exist_ok=True)
    written = set()
    for name, path in readable():
        if names and name not in names:
            continue
        for fmt in formats_of(name):
            target = GOLDEN / f"{name}.{fmt}"
            target.write_bytes(made(path, fmt).encode())
            written.add(target.name)
    gone = [] if names else [p for p in GOLDEN.glob("*") if p.suffix[1:] in FORMATS and p.name not in written]
    for p in gone:
        p.unlink()
    if not names or THRESHOLDS.stem in names:
        THRESHOLDS.write_bytes(thresholds().encode())
    sys.stdout.write(f"{len(written)} golden files written, {len(gone)} removed\n")


if __name__ == "__main__":
    main(sys.argv[1:])
