"""File -> Capture: pick the dialect, read, check the data, group repeats, build the marker tree."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from triage import devices, dialects
from triage.capture.capture import SEP, Capture, Column, Derived, InputFile, Quality, Rows, Table
from triage.capture.cells import Block
from triage.capture.compression import BYTES
from triage.capture.source import Source
from triage.devices import Device
from triage.ground import kernel_names
from triage.ground.errors import BadCapture, CaptureError, TriageError
from triage.ground.phrasing import plural
from triage.ground.units import show
from triage.reading import (
    bad_rows,
    frames,
    identities,
    marker_tree,
    name_variants,
    odd_cells,
    pass_tree,
    pixel_account,
    quality,
    stated_needs,
    tiny_work,
)

if TYPE_CHECKING:
    from triage.capture.trace_nouns import Timeline, Trace


def read(
    path: str | Source,
    *,
    dialect: str = "",
    device: str = "",
    marker: str = "",
    options: dialects.Options | None = None,
    max_unpacked: int = BYTES,
    unfold: bool = False,
    needs: Sequence[stated_needs.Need] = (),
) -> Capture:
    """Read one export (file, gz, folder, or "-") into a Capture.

    dialect: name of a reader instead of detection. device: GPU name or architecture for exports that do not say.
    marker: glob over workload names and `/`-joined paths. unfold: keep repeats apart. needs: compulsory bytes or operations per launch. max_unpacked: bytes that a gz
    file may grow to. Raises CaptureError and its kin, always in one line.
    """
    source = path if isinstance(path, Source) else Source(path, max_unpacked=max_unpacked)
    options = replace(options or dialects.Options(), device=device)
    module, why = dialects.pick(source, dialect, mapped=options.mapping)
    with np.errstate(all="ignore"):  # damaged cells may overflow or divide by zero; what comes out is checked below
        try:
            table, blocks = bad_rows.read(module, source, options)
        except OSError as e:  # removed, or a share that went away, since it was first looked at
            raise CaptureError(
                f"{source.path}: no longer readable ({e.strerror or e})", "check that it still exists"
            ) from e
        # A reader forced upon a foreign file trips over whatever is missing first. Where the reader itself recognises
        # the file, the same exception is a bug and stays one.
        except (LookupError, StopIteration, TypeError, AttributeError, ValueError) as e:
            if not dialect or module.recognise(source) is not None:
                raise
            raise BadCapture(f"{source.path}: columns do not match --dialect {dialect}", "remove --dialect") from e
    # A profiler may still have been writing: then line numbers and digests would belong to another file.
    for file in table.files:
        file.unchanged()
    if options.events and not dialects.has_events(module):
        text = f"--events {options.events} was not read: exports of this kind ({module.NAME}) have no event list of their own"
        table.quality.insert(0, Quality("events", text))
    if source.around:
        text = f"a table within a text was read; {plural(source.around, 'line')} around it left out"
        table.quality.append(Quality("tables-left-out", text))
    table.quality += bad_rows.ends(table.files)
    needs_peak = not table.columns.keys().isdisjoint(identities.NEED_PEAK)
    table.quality += identities.check(table, _device(device, table, quiet=True) if needs_peak else None)
    work = {**dialects.tells(module), **table.tells}.get("work", "")
    table.quality += name_variants.check(table, work == "compute")
    table.quality += quality.check(table, work)
    table.quality += odd_cells.check(module, table, blocks)
    table.accounted = rows(table, blocks.get(0, ()))
    if unfold:
        table.group = False
    out = capture(table, module, why, device, marker)
    stated_needs.enter(out, needs)
    return out


def capture(table: Table, module: dialects.Dialect, why: str, device: str = "", marker: str = "") -> Capture:
    """A reader's table as a Capture; raises TriageError for an unknown device or a marker that matches nothing."""
    source = table.files[0]
    tells = {**dialects.tells(module), **table.tells}
    framed = pass_tree.may_be_frame(table, tells)
    frame = frames.split(table) if framed else None
    codes, members = marker_tree.group(table)
    if frame is None and members is not None and framed:
        frame = frames.period(table)
    facts = marker_tree.fold(table, codes, members)
    # name, path and kind are the same in all rows of a group: take the first
    first = slice(None) if members is None else members[0][members[1][:-1]]
    names, paths = table.names[first], None if table.paths is None else table.paths[first]
    # a million equal empty texts are one, seen a million times
    nothing = np.broadcast_to(np.array("", dtype=object), len(names))
    kinds = nothing if table.kinds is None else table.kinds[first]
    parent, depth, _ = marker_tree.tree(names, paths)
    duration = facts.get("gpu.time", np.full(len(names), np.nan))
    inclusive, own = marker_tree.exclusive(duration, parent, depth, table.leaf_time)
    if (i := marker_tree.outgrown(inclusive, parent)) >= 0:
        text = f"{names[i]} takes {show(float(inclusive[i]), 'ns')}, the marker around it {show(float(inclusive[parent[i]]), 'ns')}"
        table.quality.append(Quality("contradiction", text, doubt=True))
    measured = _timed(table)
    if measured is not None:  # where several ran at once, each is given its part of the time
        own = np.bincount(codes, measured.own_ns[: len(codes)], len(names)).astype(np.float64)
    calls = np.ones(len(names)) if members is None else np.diff(members[1]).astype(float)
    if "frame.calls" in facts:
        calls = np.where(np.isfinite(facts["frame.calls"]), facts["frame.calls"], calls)
    sources: dict[str, Column | Derived] = dict(table.columns)
    if "gpu.time" in facts:
        facts["gpu.time"] = inclusive
    for metric, values in marker_tree.calls(table, codes, members).items():
        facts[metric] = values
        sources[metric] = Derived(f"{metric.rpartition('_')[2]} of the calls", ("gpu.time",))
    gpu = _device(device, table)
    arch = gpu.arch if gpu else table.arch
    out = Capture(
        input=InputFile(source.path, module.NAME, why, len(table), tells),
        table=table,
        names=names,
        paths=nothing if paths is None else paths,
        kinds=kinds,
        calls=calls,
        parent=parent,
        depth=depth,
        duration_ns=inclusive,
        self_ns=own,
        facts=facts,
        sources=sources,
        device=gpu,
        members=members,
        timeline=measured,
        collectable=dialects.exportable(module, arch) if table.collectable is None else table.collectable,
        notes=list(table.notes),
        quality=list(table.quality),
        collect=_next_step(table.trace) or table.collect or dialects.collector(module, arch),
    )
    tiny_work.enter(out)
    out.passes = pass_tree.passes(out)
    pixel_account.enter(out)
    if frame is not None:
        frames.enter(out, frame, codes)
    frames.enter_intervals(out)
    if marker:
        out = select(out, marker)
    covered = float(np.nansum(out.self_ns))
    out.frame_ns = covered
    # What a marker cut away is not uncovered time of the frame, it was left out on purpose.
    if table.frame_ns and not marker and table.frame_ns > covered:
        out.frame_ns, out.uncovered_ns = table.frame_ns, table.frame_ns - covered
    return out


def _timed(table: Table) -> Timeline | None:
    """Measure a table's trace; its span is the frame, and what limits what it can say is remarked upon."""
    if table.trace is None or not len(table.trace.operations):
        return None
    from triage.capture import timeline  # only traces need it

    if len(table.trace.devices) > timeline.MAX_DEVICES:
        raise BadCapture(
            f"{table.files[0].path}: work on {len(table.trace.devices):,} devices", "damaged file; export again"
        )
    found = timeline.build(table.trace)
    table.frame_ns = float(sum(d.span_ns for d in found.judged))
    table.quality += quality.timeline(found)
    return found


def _next_step(trace: Trace | None, names: Collection[str] | None = None) -> Callable[[list[str]], str] | None:
    if trace is None:
        return None
    from triage.capture.timeline.targets import next_step  # only traces need it

    return next_step(trace, names)


def select(capture: Capture, marker: str) -> Capture:
    """The workloads whose name, shown or whole, or `/`-joined path matches a glob; raises TriageError when none does."""

    def hit(i: int) -> bool:
        name = str(capture.names[i])
        full = f"{capture.paths[i]}{SEP}{name}".lstrip(SEP).replace(SEP, "/")
        matches = functools.partial(fnmatch.fnmatchcase, pat=marker)
        return matches(name) or matches(full) or matches(kernel_names.kernel(name))

    keep = np.array([i for i in range(len(capture)) if hit(i)], dtype=np.int64)
    if not len(keep):
        path = capture.input.path
        raise TriageError(f"{path}: no marker matches --marker {marker!r}", f"list them: triage facts {path}")
    whole, all_ns, timed = len(capture), float(np.nansum(capture.self_ns)), capture.timeline is not None
    # One longer than the workloads: parent -1 then finds the -1 at the end.
    back = np.full(len(capture) + 1, -1, dtype=np.int64)
    back[keep] = np.arange(len(keep))
    groups = [np.asarray(capture.rows_of(int(i)), dtype=np.int64) for i in keep]
    for field in ("names", "paths", "kinds", "calls", "depth", "duration_ns", "self_ns"):
        setattr(capture, field, getattr(capture, field)[keep])
    capture.parent = back[capture.parent[keep]]
    capture.facts = {m: v[keep] for m, v in capture.facts.items()}
    capture.timeline = None  # the gaps lie between all of them
    capture.members = (np.concatenate(groups), np.concatenate([[0], np.cumsum([len(g) for g in groups])]))
    capture.passes = pass_tree.passes(capture)
    part_ns = float(np.nansum(capture.self_ns))
    times = f" ({show(part_ns, 'ns')} of {show(all_ns, 'ns')})" if all_ns > 0 else ""
    gone = "; no timeline, whose gaps lie between all of them" if timed else ""
    if timed:
        capture.collect = _next_step(capture.table.trace, frozenset(map(str, capture.names)))
    matches = f"{len(keep):,} of {whole:,} workloads{times} match --marker {marker}"
    capture.selection = f"{matches}; all sums are of these{gone}"
    return capture


def _device(wanted: str, table: Table, quiet: bool = False) -> Device | None:
    if wanted:
        return devices.require(wanted)
    for text in (table.device, table.arch):
        if text and (found := devices.find(text)) is not None:
            return found
    if table.device and not quiet:
        table.notes.append(
            f"device {table.device!r} is not in the device table; rules that need its limits are not evaluated"
        )
    return None


def rows(table: Table, blocks: Sequence[Block]) -> Rows | None:
    """What became of the rows with figures in the file that a table stands in; None where it holds none.

    blocks: the tables of that file.
    """
    there = {line for block in blocks for line in block.lines} | table.excluded
    if not there:
        return None
    own = {table.line(i) for i in range(len(table))} & there
    merged = {
        line
        for c in (*table.columns.values(), *table.raw.values())
        if c.file == 0 and c.lines is not None
        for line in c.lines.tolist()
    }
    merged &= there - own
    left_out = table.excluded - own - merged
    time = table.columns.get("gpu.time")
    untimed = 0 if time is None else int(np.isnan(time.values).sum())
    other = len(there) - len(own) - len(merged) - len(left_out)
    return Rows(len(there), len(own), len(merged), len(left_out), other, untimed)
