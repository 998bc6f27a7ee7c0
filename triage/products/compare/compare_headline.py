"""The first sentences of a comparison: the amount of work where it differs, the change per unit of it, and its kinds."""

from __future__ import annotations

from triage import dialects
from triage.ground.phrasing import plural, upper_first
from triage.products.compare.causes import alone_named, cause, over_devices
from triage.products.compare.compare_result import Comparison, Judged, Outside, Paired, Rate, Row
from triage.products.compare.verdict import change, signed, steady
from triage.products.compare.work import ONE, amounts, chief_rows
from triage.products.noise import FASTER, SAME, SLOWER, UNKNOWN, UNREPEATED, inconclusive, verdict_word
from triage.rendering.escape import short
from triage.rendering.phrases import added, time

KIND_WORDS = {"real": "beyond noise"}
EVIDENCE = 3  # lines that a kind of change shows


def headline(doc: Comparison) -> str:
    """Times before and after, the change, and the verdicts counted; of unequal work the change per unit of it, and how unequal."""
    return " ".join(sentences(doc))


def sentences(doc: Comparison) -> list[str]:
    """The headline's sentences; the first is the change on which the verdict rests."""
    frame = doc["frame"]
    rate = doc["work"]["per_iteration"]
    if frame["speedup"] is None and rate:  # a log of frame times: no times of the GPU
        return [
            f"{times(rate['judged'])} per {_iteration(rate)}: {change(rate['judged'])}; no GPU durations to compare."
        ]
    if frame["speedup"] is None:
        return [f"{plural(doc['totals']['pairs'], f'matched {noun(doc)}')}, no durations to compare."]
    why = f", {found}" if (found := cause(doc, verdict(doc))) else ""
    counts = upper_first(_counts(doc)) + (f"; {alone}" if not why and (alone := alone_named(doc)) else "")
    if doc["work"]["unequal"]:
        return [f"{upper_first(text)}." for text in (*_unequal(doc, why), counts)]
    text = f"{times(frame)}{over_devices(doc)}: {change(frame)}{why}"
    if apart := doc["outside"]:
        work, item = apart["workloads"], noun(doc)
        text = f"{item.capitalize()}s {times(work)}: {change(work)}{why}"
        return [f"{text}.", f"Outside all {item}s {times(apart)}; total {times(frame)}.", f"{counts}."]
    return [f"{text}.", f"{counts}."]


def verdict(doc: Comparison) -> str:
    """The verdict on the whole: per unit of work where the amounts differ."""
    rate = doc["work"]["per_iteration"]
    if rate and (doc["work"]["unequal"] or doc["frame"]["speedup"] is None):
        return rate["judged"]["verdict"]
    if not doc["work"]["unequal"]:
        return (doc["outside"] or {"workloads": doc["frame"]})["workloads"]["verdict"]
    change = _per(doc)
    return SAME if _is_noise(doc, change) else SLOWER if change > 0 else FASTER


def _per(doc: Comparison) -> float:
    """Change of the time per call, or per unit of work where that is no call."""
    work = doc["work"]
    return work["per_launch"] if work["per_launch"] is not None else work["per_unit"] or 0.0


def _is_noise(doc: Comparison, share: float) -> bool:
    least = doc["frame"]["noise"] if doc["frame"]["measured"] else None
    return abs(share) <= (least or UNREPEATED * doc["noise_floor"])


def kinds(doc: Comparison) -> list[str]:
    """`work: kernels 4,010 before, 3,587 after`: each kind of change with its first evidence.

    Without what a warning or the headline holds.
    """
    return [
        f"{KIND_WORDS.get(k['kind'], k['kind'])}: {'; '.join(k['further'][:EVIDENCE])}"
        for k in doc["kinds"]
        if k["further"]
    ]


def _unequal(doc: Comparison, why: str) -> list[str]:
    """The change per unit of work, then how much work there was. why: what the change is made of."""
    work, frame, rate = doc["work"], doc["frame"], doc["work"]["per_iteration"]
    rows = chief_rows(work)
    text = "; ".join(map(amounts, rows)) if rate and not rate["kernels"] else _less(doc, rows[0])
    if not doc["timeline"]:
        text += f"; total {times(frame)}"
    unit, how = ("call", " at equal counts") if work["per_launch"] is not None else (ONE[rows[0]["what"]], "")
    per = _per(doc)
    each = f"per {unit} unchanged ({signed(per)}{how})" if _is_noise(doc, per) else f"per {unit} {signed(per)}{how}"
    out = [text, each]
    if rate:
        out.insert(0, f"{times(rate['judged'])} per {_iteration(rate)}: {change(rate['judged'])}{why}")
    else:
        out.reverse()
    return out


def _less(doc: Comparison, row: Row) -> str:
    """`66.2 % less work in a window 0.60x as long (kernels: 2,308 before, 780 after)`."""
    work, window = doc["work"], doc["work"]["window"]
    text = f"{share(work['ratio'] or 1.0)} work"
    if doc["timeline"] and window:
        text += " in the same window" if steady(window - 1) else f" in a window {window:.2f}x as long"
    text += f" ({amounts(row)})"
    return text


def share(ratio: float) -> str:
    """`10.6 % less`, `35.0 % more`, `2.4x as much`."""
    return f"{ratio:.3g}x as much" if ratio >= 2 else f"{abs(ratio - 1) * 100:.1f} % {'less' if ratio < 1 else 'more'}"


def _iteration(rate: Rate) -> str:
    where = f" on device {rate['device']}" if rate["device"] else ""
    return f"sequence of {rate['kernels']} kernels{where}" if rate["kernels"] else rate["unit"]


def _counts(doc: Comparison) -> str:
    of, item = doc["totals"], noun(doc)
    counts = [f"{n:,} {verdict_word(v)}{_moved(doc, v)}" for v, n in of["verdicts"].items()]
    if open_ := of["verdicts"].get(UNKNOWN):
        counts[-1] = f"{open_:,} {inconclusive(of['needs'], ' per side', open_ > 1)}"
    if not of["pairs"]:
        return f"no {item} on both sides"
    per = " per call" if doc["work"]["per_launch"] is not None else ""
    return f"{plural(of['pairs'], f'matched {item}')}{per}: {', '.join(counts)}"


def _moved(doc: Comparison, word: str) -> str:
    """` (Lighting −580 µs)`: of a whole that is unchanged, what moved most each way."""
    mine = [p for p in doc["pairs"] if p["verdict"] == word and not doc["timeline"]]
    if not mine or verdict(doc) != SAME or word not in (FASTER, SLOWER):
        return ""
    most = max(mine, key=lambda p: abs(adds(p)))
    return f" ({'most ' * (len(mine) > 1)}{short(most['name'], 60)} {added(adds(most))})"


def adds(p: Paired) -> float:
    """What a pair adds to the change of the whole, ns."""
    return (p["own_ns"][1] or 0.0) - (p["own_ns"][0] or 0.0)


def once(doc: Comparison) -> str:
    """`if it repeats` of a change between single runs, else ""."""
    single = len(doc["before"]) == len(doc["after"]) == 1
    return "if it repeats" if single and verdict(doc) in (FASTER, SLOWER) else ""


def times(of: Judged | Outside) -> str:
    """`700 µs before, 5.05 ms after`."""
    return f"{time(of['before_ns'])} before, {time(of['after_ns'])} after"


def whole(doc: Comparison) -> str:
    """All workloads together, by the word for them."""
    return "all kernels together" if noun(doc) == "kernel" else "the whole frame"


def noun(doc: Comparison) -> str:
    """What a workload is called."""
    return dialects.noun(c["dialect"] for c in (*doc["before"], *doc["after"]))
