"""Many captures: a report for each, an index over all, one table of every finding, one of what could not be read.

    OUT/reports/<name>.<ext>      per capture and format
    OUT/index.html, index.md      captures and root causes across captures, by saving
    OUT/findings.csv, .parquet    one row per listed finding (Parquet where pyarrow is installed); the same rows once
    OUT/errors.csv                one row per capture that could not be used
    OUT/.triage/<name>.json       what is done; --resume reads it

A capture's note in `.triage` is written after its reports, and every file appears whole or not at all. So a batch may
be killed at any moment: with `resume` only what has no valid note is done again, and the bytes are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import asdict

from triage import __version__
from triage.document.finding_rows import COLUMNS
from triage.files import bounded, plain_json, writing
from triage.ground.errors import ReportError, TriageError
from triage.products.batch import index, workers
from triage.products.batch.batch_contents import Batch, ranked, recur
from triage.products.batch.batch_result import Note, Recurring
from triage.products.batch.find import NOTE_RE, STATE, Found, is_output
from triage.products.batch.workers import Outcome
from triage.products.settings import Settings
from triage.rendering import declared, formats, templates
from triage.rendering.findings_csv import rows
from triage.rendering.findings_parquet import parquet

_PART = re.compile(r"\.(.{1,40})\.(?:[0-9a-f]{8})\.part")  # of `writing.atomic`
_OURS = ("index.html", "index.md", "findings.csv", "findings.parquet", "errors.csv")
_LARGEST = 1 << 30  # bytes of a report
Progress = Callable[[Outcome, int], None]


def signature(settings: Settings) -> str:
    """What the bytes of a report depend on besides its capture: options, rules, version, templates."""
    # the rules by their content: the files behind the same options may change from one night to the next
    texts = [repr(asdict(settings)), settings.rulebook().sha256, __version__]
    for name in settings.formats:
        path = formats.template(name)
        texts.append(hashlib.sha256(path.read_bytes()).hexdigest() if path else name)
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def run(
    found: Sequence[Found],
    settings: Settings,
    out: Path,
    *,
    jobs: int = 1,
    resume: bool = False,
    dask: str = "",
    progress: Progress | None = None,
    passed: Sequence[tuple[str, str]] = (),
) -> Batch:
    """Diagnose captures into a folder. progress(outcome, done): called after each. Raises ReportError, RuleError.

    passed: (path, reason) of files that are no captures; they are listed. resume: keep what an earlier batch with the same options finished on unchanged inputs.
    """
    state = out / STATE
    try:
        if not is_output(out) and (theirs := next((n for n in _OURS if (out / n).exists()), "")):
            raise ReportError(f"{out / theirs}: not written by triage batch", "move it, or choose another -o")
        state.mkdir(parents=True, exist_ok=True)
        for place in (state, out / "reports"):
            if place.is_symlink():  # it would write and delete in another folder
                raise ReportError(f"{place}: a link, expected a folder", "remove the link")
    except OSError as e:
        raise ReportError(f"{out}: cannot be written ({e.strerror or e})", "choose another -o") from e
    with _alone(state):
        # under the lock: what is swept away next may be another batch's
        mark = signature(settings)
        _sweep(out, {f.slug for f in found})
        kept = {f.slug for f in found if resume and _kept(f, settings, out, mark)}
        for f in found:
            if f.slug not in kept:
                _forget(out, f.slug)
        todo = [f for f in found if f.slug not in kept]
        errors: dict[str, str] = {}
        outcomes = workers.cluster(todo, settings, dask) if dask else workers.local(todo, settings, jobs)
        with contextlib.closing(outcomes):
            for done, outcome in enumerate(outcomes, 1):
                if outcome.error:
                    errors[outcome.found.slug] = outcome.error
                else:
                    _keep(outcome, out, mark)
                if progress:
                    progress(outcome, done)
        batch = _finish(found, errors, settings, out, passed)
        batch.kept = len(kept)
        return batch


@contextlib.contextmanager
def _alone(state: Path) -> Iterator[None]:
    """Refuse a second batch into the same folder; the lock goes with the process, however it ends."""
    import filelock

    lock = filelock.FileLock(state / "lock", timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout as e:
        raise ReportError(f"{state.parent}: another batch writes there", "wait for it, or choose another -o") from e
    except NotImplementedError:  # some network shares have no locks; better two batches than none
        pass
    except OSError as e:  # not writable, or a link
        raise ReportError(f"{state / 'lock'}: cannot be locked ({e.strerror or e})", "choose another -o") from e
    try:
        yield
    finally:
        lock.release()


def _sweep(out: Path, slugs: set[str]) -> None:
    """Remove what a killed batch left half-written, and reports of captures that are no longer asked for."""
    for folder, ours in ((out, _OURS), (out / "reports", ()), (out / STATE, ())):
        for part in folder.glob(".*.part"):
            m = _PART.fullmatch(part.name)
            # whatever another program keeps there under such a name is left alone
            if m and (not ours or m[1] in ours) and not part.is_symlink():
                part.unlink(missing_ok=True)
    for note in sorted((out / STATE).glob("*.json")):
        if NOTE_RE.fullmatch(note.name) and note.stem not in slugs:
            _forget(out, note.stem)


def _forget(out: Path, slug: str) -> None:
    note = out / STATE / f"{slug}.json"
    with contextlib.suppress(ValueError, OSError, TypeError, KeyError):
        for name in plain_json.load(note)["files"]:
            # a note is a file that others may edit: it names reports of this capture, never a path
            if Path(name).name == name and name.startswith(slug):
                (out / "reports" / name).unlink(missing_ok=True)
    note.unlink(missing_ok=True)


def _kept(found: Found, settings: Settings, out: Path, mark: str) -> bool:
    """Did an earlier batch finish this capture, with the same options and the same bytes in?"""
    try:
        note = plain_json.load(out / STATE / f"{found.slug}.json")
        if note["seal"] != _seal(note):  # damaged, or edited: what else it says may be anything
            return False
        if (note["mark"], note["summary"]["path"]) != (mark, found.path) or not note["content"]:
            return False
        # others may edit a note: it names reports, never a path
        if any(Path(name).name != name for name in note["files"]):
            return False
        files = {name: bounded.read(out / "reports" / name, _LARGEST) for name in note["files"]}
        whole = all(hashlib.sha256(data).hexdigest() == note["files"][name] for name, data in files.items())
        # the capture itself last: reading it is what takes long
        return whole and workers.open_source(found.path, settings.most_unpacked).sha256 == note["sha256"]
    except (OSError, ValueError, KeyError, TypeError, TriageError):
        return False


def _seal(note: Note) -> str:
    """Digest of a note's content, as the note states it."""
    return hashlib.sha256(plain_json.dumps({**note, "seal": ""}).encode()).hexdigest()


def _keep(outcome: Outcome, out: Path, mark: str) -> None:
    """Write a capture's reports, then the note that says they are there."""
    slug = outcome.found.slug
    assert outcome.summary is not None  # only an error has none
    files = {}
    for name, text in outcome.reports.items():
        with writing.atomic(out / "reports" / f"{slug}{formats.suffix(name)}") as write:
            write(text)
        # as it is written: file names of another encoding hold lone surrogates, which no UTF-8 file can
        files[f"{slug}{formats.suffix(name)}"] = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    note: Note = {
        "mark": mark,
        "sha256": outcome.sha256,
        "content": outcome.content,
        "files": files,
        "summary": outcome.summary,
        "rows": outcome.rows,
        "seal": "",
    }
    note["seal"] = _seal(note)
    with writing.atomic(out / STATE / f"{slug}.json") as write:
        write(plain_json.dumps(note))


def _notes(found: Sequence[Found], out: Path) -> Iterator[tuple[Found, Note]]:
    for f in found:
        path = out / STATE / f"{f.slug}.json"
        if path.is_file():
            yield f, plain_json.load(path)


def _finish(
    found: Sequence[Found], errors: dict[str, str], settings: Settings, out: Path, passed: Sequence[tuple[str, str]]
) -> Batch:
    """Index and tables, from the notes alone: so a resumed batch writes the very bytes of an uninterrupted one.

    Each note is read once, and of a capture only what the index shows is kept.
    """
    batch = Batch(errors=[(f.path, errors[f.slug].removeprefix(f"{f.path}: ")) for f in found if f.slug in errors])
    batch.passed = list(passed)
    counted: dict[str, Found] = {}  # digest of rows -> the first capture that holds them
    causes: dict[str, Recurring] = {}
    with writing.atomic(out / "findings.csv") as write, parquet(out / "findings.parquet") as group:
        rows(write, [COLUMNS])
        for f, note in _notes(found, out):
            summary = note["summary"]
            reports = [f"reports/{f.slug}{formats.suffix(name)}" for name in settings.formats]
            first = counted.setdefault(note["content"], f)
            if first is not f:
                batch.same.append({"path": f.path, "first": first.path, "reports": reports})
                continue
            batch.captures.append(
                index.listed(f, summary, reports, drawn=len(batch.captures) < index.MAX_DRAWN_CAPTURES)
            )
            batch.findings += summary["findings_total"]
            batch.limiters |= {x["limiter_class"] for x in summary["limiters"] if x["share"]}
            recur(causes, summary, reports[0])
            rows(write, note["rows"])
            group(note["rows"])
    batch.captures.sort(key=lambda c: (-(c.recoverable_ns or 0), -(c.duration_ns or 0), c.path))
    batch.causes = ranked(causes)
    largest = {c.path for c in batch.captures[: index.MATRIX_COLUMNS]}
    for f, note in _notes([f for f in counted.values() if f.path in largest], out):
        batch.drawn[f.path] = {c["cause"]: c["saved_ns"] or 0.0 for c in note["summary"]["causes"]}
    with writing.atomic(out / "errors.csv") as write:
        rows(write, [("file", "reason"), *batch.errors, *batch.passed])
    context = {**index.context(batch), **index.page(batch)}
    for template in declared.templates("batch").values():
        with writing.atomic(out / f"index{declared.read(template).suffix}") as write:
            for piece in templates.pieces(template, **context):
                write(piece)
    return batch
