"""One side of a comparison as columns over its workloads, repeats folded together; objects are made of those looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from triage import schema
from triage.capture.arrays import Codes, Floats, Indices
from triage.capture.capture import Capture
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.gain import fractions
from triage.diagnosis.outcomes import Outcomes
from triage.findings.reasons import Reasons
from triage.products.compare import factors
from triage.products.compare.item import ABSENT, FIRED, SHAPE, UNTOLD, Item, Who
from triage.products.compare.timeline_launches import Launches, each
from triage.products.noise import Repeats

MIN_TIMES = 8  # heuristic: different times of which a common divisor is no chance


class Side(Struct, frozen=True):
    """The workloads of a diagnosis whose captures are repeats.

    order: place in the capture, 0 to 1. rows: per capture, the index of each workload in it, -1 where it is missing; facts: what is
    of its launches alone, where they are some of the capture's workload or several. times (ns), calls, each (ns of one call) and own (exclusive ns): one run per capture. noise: inside single captures, shares of the time; tick: what the clock may add or take, likewise. metrics: what is measured anywhere. speak:
    rules that are asked, by their place in the rulebook; codes: what each of them says, rules x workloads.
    """

    d: Diagnosis
    who: list[Who]
    order: Floats
    rows: list[Indices]
    facts: list[dict[str, Floats]]
    times: Repeats
    calls: Repeats
    each: Repeats
    own: Repeats
    noise: Floats
    tick: Floats
    metrics: Sequence[str]
    speak: Sequence[int]
    codes: Codes

    def __len__(self) -> int:
        return len(self.who)

    def joined(self, groups: Sequence[Sequence[int]]) -> Side:
        """With the times of each group as those of its first workload, whose counters and findings are those of no whole."""
        who, rows, codes = list(self.who), [r.copy() for r in self.rows], self.codes.copy()
        facts = [{m: v.copy() for m, v in own.items()} for own in self.facts]
        for first, *more in groups:
            who[first] = who[first]._replace(name=" + ".join(self.who[i].name for i in (first, *more)))
            codes[:, first] = UNTOLD
            for values in (*rows, *(v for own in facts for v in own.values())):
                values[first] = -1 if values.dtype.kind == "i" else np.nan
        times, own = self.times.added(groups), self.own.added(groups)
        return replace(self, who=who, rows=rows, facts=facts, codes=codes, times=times, own=own)

    def items(self, chosen: Sequence[int]) -> list[Item]:
        """Some workloads as objects, without what only `explained` ones know."""
        order = self.order[chosen].tolist()
        items = [Item(self.who[i], o, self.times.at(i), self.calls.at(i)) for i, o in zip(chosen, order, strict=True)]
        captures = [p.capture for p in self.d.parts]
        for metric in self.metrics:
            for c, rows, own in zip(captures, (rows[chosen] for rows in self.rows), self.facts, strict=True):
                if metric in own:
                    _enter(metric, own[metric][chosen], items)
                elif metric in c.facts:
                    _enter(metric, np.where(rows >= 0, c.facts[metric][rows], np.nan), items)
        for index, codes in zip(self.speak, self.codes[:, chosen].tolist(), strict=True):
            for item, code in zip(items, codes, strict=True):
                item.rules[self.d.book.rules[index].id] = code
        return items

    def explained(self, chosen: Sequence[int], others: Sequence[Item] = ()) -> list[Item]:
        """Some workloads as objects, with the factors of their times and what the rules promised. others: the same before."""
        items, rules = self.items(chosen), self.d.book.rules
        fired = {id(item): other.rules for item, other in zip(items, others, strict=False)}
        for part, rows in zip(self.d.parts, self.rows, strict=True):
            at = {row: item for row, item in zip(rows[chosen].tolist(), items, strict=True) if row >= 0}
            for o in Outcomes(self.d, part, np.array(sorted(at), dtype=np.int64)).blocks():
                here = [at[row] for row in o.rows.tolist()]
                factors.enter(here, o.view)
                _promises(o, self.speak, here)
                for i, item in enumerate(here):
                    item.hidden = {rules[k].id for k in self.speak for _, hit in o.truth.overruled.get(k, ()) if hit[i]}
                    gone = [
                        k
                        for k in self.speak
                        if fired.get(id(item), {}).get(name := rules[k].id) == FIRED and item.rules[name] == ABSENT
                    ]
                    item.silent = {rules[k].id: Reasons(o).why_silent(k, i)[1] for k in gone}
            for row, item in zip(rows[chosen].tolist(), items, strict=True):
                # of launches that are one workload of the capture
                if row >= 0 and (same := at[row]) is not item:
                    item.factors, item.gains = same.factors, same.gains
                    item.silent, item.hidden = same.silent, same.hidden
        return items


class _Folded(Struct, frozen=True):
    """The workloads of a capture as they are compared. row: of each, the capture's workload that speaks for it."""

    who: Iterable[Who]
    row: Indices
    times: Floats
    calls: Floats
    own: Floats
    noise: Floats
    tick: float
    facts: dict[str, Floats]


def fold(d: Diagnosis, speak: Sequence[int], launched: Mapping[int, Launches]) -> Side:
    """The workloads of one side. speak: rules to ask, by their place in the rulebook. launched: by a capture's id, its launches."""
    place: dict[Who, int] = {}
    folded = [_launched(p.capture, launched[id(p.capture)]) if launched else _plain(p.capture) for p in d.parts]
    # per capture, where its workloads stand on this side
    found = [np.array([place.setdefault(w, len(place)) for w in f.who], dtype=np.int64) for f in folded]
    shape = (len(found), len(place))
    rows, order, (noise, tick) = np.full(shape, -1), np.zeros(shape[1]), np.zeros((2, shape[1]))
    times, calls, own = np.full((3, *shape), np.nan)
    facts: list[dict[str, Floats]] = [{} for _ in folded]
    for k, (f, where) in reversed(list(enumerate(zip(folded, found, strict=True)))):
        rows[k, where] = f.row
        order[where] = f.row / max(1, len(d.parts[k].capture) - 1)
        times[k, where] = np.where(np.isfinite(f.times) & (f.times > 0), f.times, np.nan)
        calls[k, where] = f.calls
        own[k, where] = f.own
        noise[where] = np.maximum(noise[where], f.noise)
        with np.errstate(all="ignore"):
            # of many calls the steps even out
            tick[where] = np.fmax(tick[where], f.tick * np.sqrt(np.maximum(f.calls, 1)) / f.times)
        for metric, values in f.facts.items():
            facts[k][metric] = np.full(shape[1], np.nan)
            facts[k][metric][where] = values
    metrics = [m for m in schema.all_metrics() if any(_is_counted(p.capture, m) for p in d.parts)]
    codes = _codes(d, speak, list(rows))
    with np.errstate(all="ignore"):
        each = Repeats.of(np.where(calls > 0, times / calls, np.nan))
    measured = (Repeats.of(times), Repeats.of(calls), each, Repeats.of(own))
    return Side(d, list(place), order, list(rows), facts, *measured, noise, tick, metrics, speak, codes)


def _is_counted(c: Capture, metric: str) -> bool:
    """False of what the times alone tell, such as the links of a chain."""
    return metric in c.facts and getattr(c.sources.get(metric), "inputs", ()) != ("gpu.time",)


def _plain(c: Capture) -> _Folded:
    return _Folded(_whos(c), np.arange(len(c)), c.duration_ns, c.calls, c.self_ns, _within(c), _tick(c.duration_ns), {})


def _launched(c: Capture, of: Launches) -> _Folded:
    facts, size = dict(each(c, of)), len(of.who)
    times = c.table.columns["gpu.time"].values
    own = np.bincount(of.codes, None if c.timeline is None else c.timeline.own_ns[: len(of.codes)], size)
    order = np.argsort(of.codes, kind="stable")
    calls = np.bincount(of.codes, minlength=size)
    noise = np.array([_scatter(t) for t in np.split(times[order], np.cumsum(calls)[:-1])])
    noise[[not w.shape for w in of.who]] = 0.0
    return _Folded(
        of.who, of.row, facts["gpu.time"], calls.astype(float), own.astype(float), noise, _tick(times), facts
    )


def _whos(c: Capture) -> Iterator[Who]:
    """Who the workloads of a capture are, in its order."""
    seen: dict[Who, int] = {}
    for who in map(Who, c.paths.tolist(), c.names.tolist(), c.kinds.tolist(), _shapes(c), repeat(0)):
        seen[who] = nth = seen.get(who, -1) + 1
        yield who._replace(nth=nth) if nth else who


def _shapes(c: Capture) -> Iterable[str]:
    """The launch shapes: they are part of who a workload is, for the same kernel on another grid is other work."""
    known = [c.facts[m].tolist() for m in SHAPE if m in c.facts]
    return (
        (",".join(f"{v:g}" for v in values if v == v) for values in zip(*known, strict=True)) if known else repeat("")
    )


def _within(c: Capture) -> Floats:
    """Noise of the mean of equal launches inside one capture: two standard errors, as a part of the mean."""
    out, shaped = np.zeros(len(c)), np.zeros(len(c), dtype=bool)
    for metric in SHAPE:
        shaped |= np.isfinite(c.facts[metric]) if metric in c.facts else False
    # the spread of two launches says nothing, and that of several shapes something else
    for w in np.flatnonzero(shaped & (c.calls >= 3)).tolist() if c.members is not None else ():
        out[w] = _scatter(np.asarray(c.times(w), dtype=float))
    return out


def _tick(times: Floats) -> float:
    """Step of the clock that measured, in ns: what all times are whole multiples of; 0 where few times tell."""
    whole = np.unique(np.rint(times[np.isfinite(times) & (times > 0) & (times < 2**53)]).astype(np.int64))
    return float(np.gcd.reduce(whole)) if len(whole) >= MIN_TIMES else 0.0


def _scatter(times: Floats) -> float:
    """Two standard errors of the mean of calls, as a part of it; 0 of fewer than three."""
    times = times[np.isfinite(times)]
    if len(times) < 3 or times.mean() <= 0:
        return 0.0
    return float(2 * times.std(ddof=1) / np.sqrt(len(times)) / times.mean())


def _codes(d: Diagnosis, speak: Sequence[int], rows: Sequence[Indices]) -> Codes:
    """What each rule says of each workload; of repeats that disagree, the majority counts. rows: as in Side."""
    fired, known = np.zeros((2, len(speak), len(rows[0])), np.min_scalar_type(len(rows)))
    for part, of in zip(d.parts, rows, strict=True):
        # one longer than the workloads: what is missing has the last, of which nothing is known
        judged = np.zeros((2, len(speak), len(part.capture) + 1), dtype=bool)
        for o in Outcomes(d, part).blocks():
            for k, index in enumerate(speak):
                holds, fails = o.decided(index)
                judged[0, k, o.rows] = holds
                judged[1, k, o.rows] = holds | fails
        fired += judged[0][:, of]
        known += judged[1][:, of]
    codes = np.full(fired.shape, ABSENT, dtype=np.int8)
    codes[fired >= known - fired] = FIRED
    codes[known == 0] = UNTOLD
    return codes


def _enter(metric: str, values: Floats, items: Sequence[Item]) -> None:
    for item, value in zip(items, values.tolist(), strict=True):
        if np.isfinite(value):
            item.values.setdefault(metric, []).append(value)


def _promises(o: Outcomes, speak: Sequence[int], items: Sequence[Item]) -> None:
    """What rules promised where they fired; of several repeats the last one counts."""
    for index in speak:
        rule, fired = o.d.book.rules[index], np.flatnonzero(o.decided(index)[0])
        if not len(fired) or rule.gain is None:
            continue
        gains = np.transpose(fractions(rule, o.lookup(index), fired)).tolist()
        for w, (low, likely, bound) in zip(fired.tolist(), gains, strict=True):
            # NaN: it fired on a workload without self time
            if likely == likely:
                items[w].gains[rule.id] = (low, likely, bound)
