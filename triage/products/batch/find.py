"""Which captures a batch is about: files, folders, globs and remote addresses -> a list without doubles.

A folder that is itself one export is one capture, and the files that go with an export are not captures of their own.
Every capture gets a short name for its reports that is safe on every file system and never clashes.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from triage import dialects
from triage.capture.source import Source
from triage.files import tree
from triage.ground.errors import CaptureError, TriageError, install

STATE = ".triage"  # a batch keeps its notes here; a folder with notes is a batch's output, not its input
MAX_SEARCHED_FILES = 200_000  # files and folders that are searched for captures
TABLES = (".csv", ".tsv", ".xls", ".gz", ".ncu-rep", ".ncu-repz", ".nsys-rep")  # taken in a folder whatever is in them
PASSED = (".png", ".jpg", ".html", ".md", ".pdf", ".zip", ".py", ".cu", ".cpp", ".h", ".sh", ".yaml", ".svg")
NOTE_RE = re.compile(r"[a-z0-9_-]{1,71}-[0-9a-f]{8}\.json")  # of a capture, after its slug
_NEVER = re.compile(
    r"(manifest|readme|licen[cs]e|origin|notice|changelog)(?![a-z])|\.|thumbs\.db|desktop\.ini", re.IGNORECASE
)
# metric sets or passes of one program: one capture
_SETS_RE = re.compile(r"metrics_.*\.csv|.*counter_collection\.csv|results_.+\.csv(\.gz)?", re.IGNORECASE)
_PASS_RE = re.compile(r"(pass|pmc)_\d+")  # folders of passes, which the folder above joins
_NO_PLACE, _HINT = "is not searched for captures", "name the folder they lie in"
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


class Found(Struct, frozen=True):
    """One capture of a batch. path: what is opened and printed. name: below what the user typed. slug: of its reports."""

    path: str
    name: str
    slug: str = ""


class Gathered(Struct):
    """Captures in the order of their paths. companions: files read with them. passed: (path, why it is none)."""

    captures: list[Found] = field(default_factory=list)
    companions: int = 0
    passed: list[tuple[str, str]] = field(default_factory=list)


def gather(paths: Sequence[str], out: str = "") -> Gathered:
    """Every capture below the paths, sorted. out: the batch's own output folder, never searched.

    Raises TriageError for standard input, whole file systems, and addresses that cannot be listed. A path that is not there is a capture
    all the same: reading it says what is wrong.
    """
    g = Gathered()
    found: list[tuple[str, str]] = []
    for path in paths:
        found += _expand(path, os.path.realpath(out) if out else "", g)
    seen: dict[str, tuple[str, str]] = {}
    for path, name in found:
        # a link and what it points to are one capture
        seen.setdefault(path if "://" in path else os.path.realpath(path), (path, name))
    g.captures = _named(sorted(seen.values()))
    return g


def _expand(path: str, out: str, g: Gathered) -> list[tuple[str, str]]:
    if path == "-":
        raise TriageError("-: standard input cannot be batched", "name files or folders, or use: triage diagnose -")
    if "://" in path:
        return _remote(path, g)
    if os.path.isdir(path):
        return _walk(Path(path), out, g)
    # a file may be called `a[1].csv`: what exists is no pattern
    if not os.path.exists(path) and glob.has_magic(path):
        try:
            hits = tree.matching(path)
        except tree.TooMany as e:
            raise TriageError(f"{path}: {e} {_NO_PLACE}", _HINT) from None
        folders = [h for h in hits if os.path.isdir(h)]
        inside = [f for h in folders for f in _walk(Path(h), out, g)]
        files = [(h, h) for h in hits if h not in set(folders) and not _is_companion(Path(h), g)]
        return files + inside if hits else [(path, path)]
    return [(path, os.path.basename(path))]


def is_output(folder: str | Path) -> bool:
    """True if a batch writes into this folder: its notes, or its lock, are there."""
    with suppress(OSError):
        return any(name == "lock" or NOTE_RE.fullmatch(name) for name in os.listdir(os.path.join(folder, STATE)))
    return False


def _is_companion(path: Path, g: Gathered) -> bool:
    try:
        beside = [p.name for p in path.parent.iterdir()]
    except OSError:
        return False
    _, companions = _split([path.name, *beside])
    g.companions += path.name in companions
    return path.name in companions


def _walk(root: Path, out: str, g: Gathered) -> list[tuple[str, str]]:
    """Captures below a folder; of nested folders that count as one export the innermost is it."""

    def searched(folder: str) -> bool:
        if out and os.path.realpath(folder) == out:
            return False
        hidden = "a hidden folder" if folder != str(root) and os.path.basename(folder).startswith(".") else ""
        if why := f"written by triage batch ({STATE})" if is_output(folder) else hidden:
            passed(folder, why)
        return not why

    def passed(path: str, why: str) -> None:
        g.passed.append((path, f"not searched: {why}"))

    try:
        below = tree.walk(str(root), MAX_SEARCHED_FILES, searched, passed)
    except tree.TooMany as e:
        raise TriageError(f"{root}: {e} {_NO_PLACE}", _HINT) from None
    if not searched(str(root)):
        return []
    found: list[tuple[str, str]] = []
    joined: set[Path] = set()
    for here, files in below:
        folder = Path(here)
        if (whole := _of_passes(folder, root)) is not None:
            g.companions += len(files)
            if whole not in joined:
                joined.add(whole)
                name = whole.relative_to(root).as_posix()
                found.append((str(whole), root.name or "capture" if name == "." else name))
            continue
        mains, companions = _split(files)
        g.companions += len(companions)
        sets = {n for n in files if _SETS_RE.fullmatch(n)}
        if (len(mains) == 1 or len(sets) > 1) and _recognised(folder):
            name = folder.relative_to(root).as_posix()
            found.append((str(folder), root.name or "capture" if name == "." else name))
            # the folder stands for it: listed by itself it would count twice
            companions |= mains | sets
        for name in files:
            if name in companions:
                continue
            path = folder / name
            if why := _no_capture(path):
                g.passed.append((str(path), why))
            else:
                found.append((str(path), path.relative_to(root).as_posix()))
    return found


def _of_passes(folder: Path, root: Path) -> Path | None:
    """The folder whose passes lie here (`out` of `out/pmc_1/host`), None where no reader joins them."""
    parts = folder.relative_to(root).parts
    at = next((i for i, part in enumerate(parts) if _PASS_RE.fullmatch(part)), None)
    whole = root.joinpath(*parts[:at])
    return whole if at is not None and _recognised(whole) else None


def _split(files: Iterable[str]) -> tuple[set[str], set[str]]:
    """(main files of exports that are folders, companions) among the names of one folder."""
    names = list(files)
    mains: set[str] = set()
    companions: set[str] = set()
    for main, others, whole in _families():
        if first := {n for n in names if main.search(n) and not others.search(n)}:
            companions |= {n for n in names if others.search(n)}
            mains |= first if whole else set()
    return mains, companions - mains


@cache
def _families() -> list[tuple[re.Pattern[str], re.Pattern[str], bool]]:
    """(main file, files that go with it, is the folder the export?) as families.toml says."""
    families = tomllib.loads(Path(__file__).with_name("families.toml").read_text("utf-8"))["family"]
    return [(*(re.compile(f[k], re.IGNORECASE) for k in ("main", "others")), "folder" in f) for f in families]  # type: ignore[misc]


def companions(names: Iterable[str]) -> set[str]:
    """Names in one folder that are read together with another: they are no captures."""
    return _split(names)[1]


def _no_capture(path: Path) -> str:
    """Why a file is not taken for a capture; "" for a table by its suffix, and for what a dialect recognises by its content."""
    suffix = path.suffix.lower()
    if _NEVER.match(path.name):
        return "not read: a document by its name"
    if suffix in PASSED or suffix == ".part":
        return f"not read: {suffix} is no export"
    if not path.is_file():
        return "not a file"
    return "" if suffix in TABLES else _unrecognised(path)


def _recognised(folder: Path) -> bool:
    try:
        return dialects.is_known(Source(str(folder)))
    except CaptureError:
        return False


def _unrecognised(path: Path) -> str:
    try:
        dialects.pick(Source(str(path)))
    except CaptureError as e:
        return e.message.removeprefix(f"{path}: ") or "not a profiler export"
    return ""


def _remote(url: str, g: Gathered) -> list[tuple[str, str]]:
    """Files behind an address that fsspec understands, such as s3://bucket/night/*.csv."""
    try:
        import fsspec
    except ImportError as e:
        raise TriageError(f"{url}: remote paths need fsspec", install("dask")) from e
    try:
        fs, path = fsspec.core.url_to_fs(url)
        if glob.has_magic(path):
            hits = sorted(fs.glob(path))
        elif fs.isdir(path):
            hits = sorted(fs.find(path))
        else:
            return [(url, PurePosixPath(path).name)]
    except (OSError, ValueError, ImportError) as e:
        raise TriageError(f"{url}: cannot be listed ({e})", "check the address and its credentials") from e
    taken = []
    # names begin below the part of the address without wildcards
    base = path.partition("*")[0].rpartition("/")[0] if glob.has_magic(path) else path
    for hit in hits:
        if PurePosixPath(hit).suffix.lower() in TABLES and not _NEVER.match(PurePosixPath(hit).name):
            taken.append((fs.unstrip_protocol(hit), hit.removeprefix(base).lstrip("/")))
        else:
            g.passed.append((fs.unstrip_protocol(hit), "not a table by its name: to read it, name it alone"))
    return taken


def _named(found: Sequence[tuple[str, str]]) -> list[Found]:
    slugs: set[str] = set()
    out = []
    for path, name in found:
        slug = slugify(name)
        if slug in slugs:  # the same name below two of the paths given: take the whole path
            slug = slugify(name, path)
        while slug in slugs:
            slug = slugify(name, slug)
        slugs.add(slug)
        out.append(Found(path, name, slug))
    return out


def slugify(name: str, also: str = "") -> str:
    """A file name for a report: readable, at most 80 characters, safe everywhere, with a hash that keeps it apart."""
    digest = hashlib.sha256(f"{name}\0{also}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    stem = re.sub(r"\.(csv|tsv|txt|xls|gz)\b", "", name, flags=re.IGNORECASE)
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", stem).strip("-_").lower()
    if len(plain) > 64:
        # keep the end of a long path, which says more
        plain = f"{plain[:24].rstrip('-_')}-{plain[-38:].lstrip('-_')}"
    if not plain or _RESERVED.fullmatch(plain):
        plain = f"capture-{plain}".rstrip("-")
    return f"{plain}-{digest}"
