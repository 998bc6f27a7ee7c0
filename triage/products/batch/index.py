"""What index.html and index.md of a batch show of every capture and recurring root cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup
from msgspec.structs import asdict

from triage import __version__
from triage.document.time_shares import MIN_UNDIAGNOSED_SHARE
from triage.ground.limiters import LIMITERS
from triage.ground.phrasing import percent
from triage.products.batch.batch_result import Listed, Overview
from triage.rendering.escape import short
from triage.rendering.html import bars
from triage.rendering.html.page import STYLES, shell
from triage.rendering.phrases import range_, time
from triage.rendering.verdict_phrases import verdict

if TYPE_CHECKING:
    from triage.products.batch.batch_contents import Batch
    from triage.products.batch.find import Found


MAX_DRAWN_CAPTURES = 1_000  # a larger index is a table to search, without drawings
MATRIX_COLUMNS = 12  # captures, and causes, of the matrix


class Entries:
    """What the templates name of each capture, made when they come to it."""

    def __init__(self, captures: Sequence[Listed], make: Callable[[Listed], dict[str, object]]) -> None:
        self._captures, self._make = captures, make

    def __len__(self) -> int:
        return len(self._captures)

    def __iter__(self) -> Iterator[dict[str, object]]:
        return map(self._make, self._captures)


def listed(found: Found, c: Overview, reports: list[str], drawn: bool) -> Listed:
    """What the index keeps of a capture. drawn: with what its drawing needs."""
    first = c["causes"][0] if c["causes"] else None
    return Listed(
        path=found.path,
        device=c["device"],
        workloads=c["workloads"],
        remarks=c["remarks"],
        duration_ns=c["duration_ns"],
        recoverable_ns=c["recoverable_ns"],
        recoverable_low_ns=c["recoverable_low_ns"],
        recoverable_bound_ns=c["recoverable_bound_ns"],
        undiagnosed_ns=c["time_by_verdict"].get("not-diagnosed") or 0.0,
        first=f"{first['title']} ({time(first['saved_ns'])})" if first else _silence(c),
        limiters=c["limiters"] if drawn else [],
        reports=reports,
    )


def _silence(c: Overview) -> str:
    """What no item means: nothing was diagnosed, or the work is at a hardware limit."""
    times = {name: ns for name, ns in c["time_by_verdict"].items() if ns}
    longest = max(times, key=lambda name: times[name], default="")
    return verdict(longest).lower() if longest in ("not-diagnosed", "at-limit") else "no items"


def context(batch: Batch) -> dict[str, object]:
    """Everything the index templates name."""
    paths = [c.path for c in batch.captures]
    labels = dict(zip(paths, called(paths), strict=True))
    most = max((c.recoverable_bound_ns or 0 for c in batch.captures), default=0.0)
    spent = sum(c.duration_ns or 0 for c in batch.captures)
    few = len(batch.captures) <= MAX_DRAWN_CAPTURES
    return {
        "batch": batch,
        "version": __version__,
        "causes": batch.causes,
        "errors": batch.errors,
        "passed": batch.passed[:MAX_DRAWN_CAPTURES],
        "same": [{**s, "links": _links(s["reports"])} for s in batch.same],
        "captures": Entries(batch.captures, lambda c: _capture(c, labels[c.path], most, few)),
        "labels": labels,
        "total": sum(c.recoverable_ns or 0 for c in batch.captures),
        "spent": spent,
        "dark": _undiagnosed(batch.captures, spent, labels),
        "scale": time(most),
    }


def _undiagnosed(captures: Sequence[Listed], spent: float, labels: Mapping[str, str]) -> str:
    """`535 ms (82 %) not diagnosed, the longest n41.csv (492 ms)`; "" where that is little."""
    ns = sum(c.undiagnosed_ns for c in captures)
    if not ns or ns < MIN_UNDIAGNOSED_SHARE * spent:
        return ""
    most = max(captures, key=lambda c: c.undiagnosed_ns)
    where = f", the longest {short(labels[most.path], 60)} ({time(most.undiagnosed_ns)})" if len(captures) > 1 else ""
    return f"{time(ns)}{f' ({percent(ns / spent)})' if spent else ''} not diagnosed{where}"


def page(batch: Batch) -> dict[str, object]:
    """What only index.html shows: style and script of the product, causes by captures."""
    shown, causes = batch.captures[:MATRIX_COLUMNS], batch.causes[:MATRIX_COLUMNS]
    saved = [[batch.drawn[c.path].get(k["cause"], 0.0) for c in shown] for k in causes]
    largest = max((ns for row in saved for ns in row), default=0.0) or 1.0
    return {
        "page": shell((*STYLES, "compare.css.j2")),
        "keys": sorted(batch.limiters),
        "words": {x.id: x.name for x in LIMITERS},
        "matrix": [
            (k, [(ns, bars.number(2 + 7 * (ns / largest) ** 0.5)) for ns in row])
            for k, row in zip(causes, saved, strict=True)
        ],
        "shown": [c.path for c in shown],
        # where every capture has one report, its name leads there
        "several": any(len(c.reports) > 1 for c in batch.captures),
    }


def called(paths: Sequence[str]) -> list[str]:
    """Distinct names of captures: the last part of a path, with folders before it where several end alike."""
    parts = [[p for p in path.replace("\\", "/").split("/") if p] or [path] for path in paths]
    # Nsight Graphics calls every folder of an export BASE
    parts = [p[:-1] if p[-1] == "BASE" and len(p) > 1 else p for p in parts]
    out = [p[-1] for p in parts]
    for k in range(2, 6):
        often = Counter(out)
        if max(often.values(), default=1) == 1:
            break
        out = ["/".join(p[-k:]) if often[name] > 1 else name for p, name in zip(parts, out, strict=True)]
    return out


def _span(c: Listed, most: float) -> Markup:
    """Likely and bound of a capture on the scale that all share."""
    if not most or not c.recoverable_ns:
        return Markup("")
    likely, bound = (min(100.0, (ns or 0) / most * 100) for ns in (c.recoverable_ns, c.recoverable_bound_ns))
    return Markup(
        '<svg class="span" width="100%" height="6" aria-hidden="true" focusable="false"><rect class="s-none" width="100%" height="6"/>'
        f'<rect class="s-bound" width="{bars.number(bound)}%" height="6"/><rect class="s-likely" width="{bars.number(likely)}%" height="6"/></svg>'
    )


def _links(reports: Sequence[str]) -> list[dict[str, str]]:
    return [{"text": PurePosixPath(r).name.partition(".")[2], "href": quote(r)} for r in reports]


def folder(path: str, label: str) -> str:
    """The folder that a capture lies in; "" where its name says all."""
    return path.removesuffix(label).rstrip("/\\") if path != label else ""


def _capture(c: Listed, label: str, most: float, drawn: bool) -> dict[str, object]:
    return {
        **asdict(c),
        "share": c.recoverable_ns / c.duration_ns if c.recoverable_ns and c.duration_ns else None,
        "folder": folder(c.path, label),
        "recoverable": time(c.recoverable_ns) if c.recoverable_ns else "–",
        "range": range_(c.recoverable_low_ns, c.recoverable_bound_ns) if c.recoverable_ns else "",
        "links": _links(c.reports),
        "strip": bars.strip([{**x} for x in c.limiters], 12) if drawn else "",
        "span": _span(c, most) if drawn else "",
    }
