"""A comparison document (triage-compare/1) -> terminal, Markdown, HTML, JUnit or JSON text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from triage.files import plain_json
from triage.ground.errors import ReportError
from triage.ground.phrasing import either, lower_first, percent, plural, upper_first, whole_percent
from triage.ground.terminology import names_of, speaking, voice
from triage.ground.units import show
from triage.products.compare import charts
from triage.products.compare.causes import cause, over_devices, worse
from triage.products.compare.compare_headline import adds, headline, kinds, noun, once, sentences, verdict, whole
from triage.products.compare.compare_result import ALONE, Change, Comparison, Paired, Row, row
from triage.products.compare.predictions import TOO_WIDE, UNSURE, UNTRIED
from triage.products.compare.verdict import change, longer, regressed, signed, spread
from triage.products.compare.waterfall import ends, labels, own_titles, steps, titles, unequal_work
from triage.products.noise import (
    CHANCE,
    FASTER,
    SAME,
    SLOWER,
    UNKNOWN,
    UNREPEATED,
    inconclusive,
    unmeasured,
    verdict_word,
)
from triage.rendering import declared, templates
from triage.rendering.escape import clean, distinct, short
from triage.rendering.html.packing import blob
from triage.rendering.html.page import GRID_SCRIPTS, GRID_STYLES, shell
from triage.rendering.junit_xml import Case, Failure, Suite, junit_xml
from triage.rendering.labels import AS_DATA, HEADS
from triage.rendering.phrases import added, number, time

FORMATS = ("terminal", "markdown", "html", "json", "junit")
DEFAULT_PAIRS = 20  # in text without --full: those that add most to the change; the page lists all
SHOW_ALL_PAIRS_UP_TO = 5  # changed or not
CARDS = 60  # pairs whose counters the page shows without --full: a card is a hundred elements
DEFAULT_COUNTERS = 12  # listed per pair
LABEL_CHARS = 26  # of a counter in text
MAX_NAME_CHARS = 1_000  # characters of a name in JUnit: test viewers show them whole
OUTCOMES = {
    "below": "missed",
    "within": "met",
    "above": "exceeded",
    TOO_WIDE: "within the predicted range, too wide to confirm it",
    UNSURE: "inconclusive: too few runs",
}


def render(doc: Comparison, form: str, full: bool = False) -> str:
    """The report; raises ReportError for an unknown format. full: every pair and counter."""
    if form == "json":
        return _json(doc)
    if form == "junit":
        return junit(doc)
    with speaking(noun(doc), _whose(doc)):
        return _written(doc, form, full)


def _json(doc: Comparison) -> str:
    """The document; where it lists everything, its lists say what the totals say."""
    whole = all(doc["totals"][k] == len(doc[k]) for k in ("pairs", "unmatched"))
    return "".join(plain_json.entries({k: v for k, v in doc.items() if k != "totals" or not whole})) + "\n"


def _whose(doc: Comparison) -> tuple[str, ...]:
    """Terminology of the captures' GPUs, where all agree."""
    found = {names_of(c["setting"]) for c in (*doc["before"], *doc["after"])}
    return found.pop() if len(found) == 1 else ()


def _written(doc: Comparison, form: str, full: bool) -> str:
    if form not in declared.templates("compare"):
        raise ReportError(f"unknown format {form!r}", f"choose {either(FORMATS)}")
    every = full or form == "html" or len(doc["pairs"]) <= SHOW_ALL_PAIRS_UP_TO
    pairs = [p for p in doc["pairs"] if every or _worth(p, _band(doc))]
    pairs.sort(key=lambda p: -abs(adds(p)))
    shown = None if full or form == "html" else DEFAULT_PAIRS
    names_ = dict(zip(map(id, doc["pairs"]), titles(doc["pairs"]), strict=True))
    listed = [_pair(p, names_[id(p)], doc["rules"], full) for p in pairs[:shown]]
    for p, title in zip(listed, distinct([p["where"] for p in listed], 80), strict=True):
        p["title"] = title
    done = unequal_work(doc)
    both_ways = verdict(doc) == SAME and {FASTER, SLOWER} <= doc["totals"]["verdicts"].keys()
    word = f"{'net ' * both_ways}{verdict_word(verdict(doc))} {once(doc)}".strip()
    fall = steps(doc, _remainder(doc))
    names: dict[str, object] = {
        "listed": listed,
        "hidden": len(doc["pairs"]) - len(pairs),
        "noise_words": _filled(_noise(doc), form),
        "frame_remarks": [_filled(f"{whole(doc).capitalize()}, {r}.", form) for r in doc["frame"]["remarks"]],
        "warned": [_filled(f"WARNING: {w}.", form) for w in doc["warnings"]],
        "unlisted": [_filled(text, form) for text in (*_further(pairs[len(listed) :]), *_unlisted(doc))],
        "unmatched": [{**u, "word": ALONE[u["side"]]} for u in doc["unmatched"][:shown]],
        "unmatched_more": len(doc["unmatched"][shown:]) if shown else 0,
        "nouns": voice(),
        "over": over_devices(doc),
        "strip": _strip(doc["timeline"], done),
        "headline": _filled(f"{upper_first(word)}: {headline(doc)}", form) if form == "terminal" else headline(doc),
        "sentences": sentences(doc),
        "verdict": word,
        "kind_lines": [_filled(f"{upper_first(text)}.", form) for text in kinds(doc)],
        "outlying": [
            _filled(f"Outliers: {'; '.join(rate['outliers'])}.", form)
            for rate in [doc["work"]["per_iteration"]]
            if rate and rate["outliers"]
        ],
        "undecided": [_filled(text, form) for text in _undecided(doc)],
        "added": added,
        "steps": fall,
        "fall_of": done and f"scaled to {round(done['before'] or 0):,} {done['what']}",
        "labels": labels(fall, 40 if form == "terminal" else 80),
    }
    if form == "html":
        names |= _page(doc, pairs, listed, full)
        names["waterfall"] = charts.waterfall(*ends(doc), fall)
    return templates.render(declared.templates("compare")[form], **{**doc, **names})


def _remainder(doc: Comparison) -> str:
    """What the change of the whole is made of beside that of the workloads; medians of several runs are no sum of medians."""
    if doc["timeline"]:
        return "overlap"
    several = len(doc["before"]) > 1 or len(doc["after"]) > 1
    return "medians do not add up" if several and not doc["outside"] and not _unlisted(doc) else "outside"


def _page(doc: Comparison, pairs: Sequence[Paired], listed: Sequence[dict[str, Any]], full: bool) -> dict[str, object]:
    """What only the page shows: drawings and their common scales."""
    most = max((ns or 0.0 for p in pairs for ns in (p["before_ns"], p["after_ns"])), default=0.0)
    reach, cards = charts.reach(pairs), len(listed) if full else CARDS
    rate = doc["work"]["per_iteration"]
    scale = f"{HEADS.time} \u00b1{reach * 100:.0f} %"
    return {
        "page": shell((*GRID_STYLES, "compare.css.j2"), (*GRID_SCRIPTS, "pairs.js.j2")),
        "look_of": charts.look,
        "band": _band(doc),
        "packed": Markup(blob(_packed(doc, listed, cards, most, reach, scale))),
        "look": "unclear" if once(doc) else charts.look(verdict(doc)),
        "per": rate and f"per {rate['unit']}",
        "rate": rate and rate["judged"],
        "counts": [(verdict_word(v), n) for v, n in doc["totals"]["verdicts"].items()],
        "cards": cards,
        "explained": any(p["explained"] for p in listed),
    }


def _packed(
    doc: Comparison, listed: Sequence[dict[str, Any]], cards: int, most: float, reach: float, scale: str
) -> dict[str, object]:
    """The pairs as columns, for a table whose rows exist while they are seen."""
    verdicts = sorted({p["verdict"] for p in listed})
    intervals = [p["interval"] or (None, None) for p in listed]
    return {
        "item": voice().item.capitalize(), "most": most, "reach": reach, "margin": [_band(doc, p) for p in listed], "scale": scale,
        "heads": AS_DATA, "verdicts": verdicts, "words": list(map(verdict_word, verdicts)), "verdict": [verdicts.index(p["verdict"]) for p in listed],
        "name": [short(p["name"], MAX_NAME_CHARS) for p in listed], "label": distinct(own_titles(listed), 36), "path": [short(" / ".join(p["path"]), MAX_NAME_CHARS) for p in listed],
        "before": [p["before_ns"] for p in listed], "after": [p["after_ns"] for p in listed],
        "change": [p["change"] for p in listed], "changed": [p["changed"] for p in listed],
        "measured": [p["measured"] for p in listed], "low": [low for low, _ in intervals], "high": [high for _, high in intervals],
        "why": [clean(p["why"]) for p in listed], "card": [n if n <= cards and p["explained"] else 0 for n, p in enumerate(listed, 1)],
    }  # fmt: skip


def _strip(rows: Sequence[Row], done: Row | None) -> list[dict[str, str]]:
    """Rows of two timelines in words, after for as much work as before (done)."""
    return [_figure(r, done) for r in rows if not done or r["what"] != done["what"]]


def _figure(r: Row, done: Row | None) -> dict[str, str]:
    if done and done["ratio"]:
        r = row(r["what"], r["unit"], r["before"] or 0.0, (r["after"] or 0.0) / done["ratio"])
    change = "new" if r["ratio"] is None else "gone" if not r["after"] else signed(r["ratio"] - 1)
    return {"what": r["what"], "before": show(r["before"] or 0.0, r["unit"]), "after": show(r["after"] or 0.0, r["unit"]), "change": change}  # fmt: skip


def _filled(text: str, form: str) -> str:
    return textwrap.fill(text, 80, break_on_hyphens=False) if form == "terminal" else text


def _band(doc: Comparison, p: Mapping[str, Any] | None = None) -> float:
    """Changes of a pair (default: of any) that count as none: what "unchanged" excludes, or is assumed between single runs."""
    least = UNREPEATED * doc["noise_floor"]
    return doc["margin"] if doc["frame"]["measured"] else max(least, (p["noise"] or 0.0) if p else 0.0)


def _worth(p: Paired, margin: float) -> bool:
    """True if a pair is listed: changed, or inconclusive with a large difference."""
    if p["fixed"] or p["new"] or (p["verdict"] == UNKNOWN and p["remarks"]):
        return True
    return abs(longer(p) - 1) > margin if p["verdict"] == UNKNOWN else p["verdict"] != SAME


def _further(pairs: Sequence[Paired]) -> list[str]:
    """What the text leaves to the page."""
    if not pairs:
        return []
    together = added(sum(adds(p) for p in pairs))
    return [
        f"{plural(len(pairs), 'further pair')} changed, each adds less, together {together}: --full, or -o FILE.html."
    ]


def _unlisted(doc: Comparison) -> list[str]:
    """Counts of pairs and workloads that a large document does not list."""
    of = doc["totals"]
    pairs, alone = (of[k] - len(doc[k]) for k in ("pairs", "unmatched"))
    texts = [
        f"{pairs:,} of {plural(of['pairs'], 'pair')} counted but not listed, the least significant: --full.",
        f"{alone:,} of {plural(of['unmatched'], f'unmatched {noun(doc)}')} not listed, the shortest.",
    ]
    return [text for count, text in zip((pairs, alone), texts, strict=True) if count]


def _noise(doc: Comparison) -> str:
    """How the verdicts were reached: the last line of every report."""
    runs = "Changes are relative to the time before. "
    runs += f"{plural(len(doc['before']), 'run')} before, {len(doc['after'])} after"
    if not doc["frame"]["measured"]:
        return (
            f"{runs}: {unmeasured(doc['noise_floor'])} (3 x --noise); "
            "rows with few digits or calls state a wider limit. Add repeats: triage compare --before A... --after B..."
        )
    return (
        f"{runs}: verdicts from run-to-run spread, family-wise error {whole_percent(CHANCE)}; "
        f"“unchanged” excludes changes of {doc['margin'] * 100:g} % or more."
    )


def _undecided(doc: Comparison) -> list[str]:
    """What a threshold below the noise cannot decide."""
    limit = doc["threshold"]
    above = [p["noise"] or 0.0 for p in doc["pairs"] if p["verdict"] != SLOWER and (p["noise"] or 0.0) > (limit or 0.0)]
    if limit is None or not above:
        return []
    of = f"{len(above)} of {plural(len(doc['pairs']), noun(doc))}"
    return [
        f"{percent(limit)} cannot be decided in {of}: noise or the digits of the times hide up to {percent(max(above))}."
    ]


def failed(doc: Comparison) -> str:
    """One line that names what took longer by more than was allowed; "" where nothing did."""
    limit = doc["threshold"]
    if limit is None or not doc["regressions"]:
        return ""
    bad = sorted((p for p in doc["pairs"] if regressed(p, limit)), key=lambda p: -longer(p))
    named = [f"{' / '.join([*p['path'], p['name']])} {change(p)}" for p in bad[:3]]
    if not named:
        named = [", ".join(filter(None, (f"{whole(doc)} {change(doc['frame'])}", cause(doc, SLOWER))))]
    count = doc["totals"]["regressed"]
    more = f"; + {count - 3:,} more" if count > 3 else ""
    return f"failed on regression, allowed {percent(limit)}: {'; '.join(named)}{more}"


def open_questions(doc: Comparison) -> str:
    """One line on inconclusive workloads that look slower than allowed; "" for none."""
    limit, frame = doc["threshold"], doc["frame"]
    if limit is None:
        return ""
    count = doc["totals"]["open"] + (frame["verdict"] == UNKNOWN and longer(frame) - 1 > limit)
    doubt = inconclusive(doc["totals"]["needs"] or frame["needs"], " per side", count > 1)
    return f"{plural(count, 'workload')} slower than allowed so far, {doubt}" if count else ""


def _pair(p: Paired, name: str, rules: Mapping[str, Mapping[str, str]], full: bool) -> dict[str, Any]:
    counters = [c for c in p["changes"] if full or not c["metric"].startswith("gpu.time")]
    moved = [c for c in counters if (c["moved"] or full) and c["metric"] != "gpu.time"]
    shown = moved if full else moved[:DEFAULT_COUNTERS]
    rest = len(counters) - len(shown) - any(c["metric"] == "gpu.time" for c in counters)
    words = (
        ("no longer found", p["fixed"]),  # its counters may be where they were, beside another limit
        ("still present", p["remaining"]),
        ("now found", worse(p)),
        ("limits now, was hidden", p["hidden"]),
        ("not evaluated", p["unknown"]),
    )
    outcomes = [(word, ids) for word, ids in words if ids]
    predicted = prediction(p, rules)
    return {
        **p,
        # more than its times; of an unchanged one, what else is new
        "explained": bool(predicted or outcomes or ((full or p["verdict"] != SAME) and (shown or p["remarks"]))),
        "word": verdict_word(p["verdict"]),
        "where": name,
        "more": rest,
        "still": len(moved) == len(shown),
        "shown": list(map(_counter, shown, distinct([c["label"] for c in shown], LABEL_CHARS))),
        "why": _why(p, moved),
        "text": _wrap(f"{time(p['before_ns'])} -> {time(p['after_ns'])}: {p['reading']}"),
        "remarks_text": [_wrap(r) for r in p["remarks"]],
        "outcomes": outcomes,
        "prediction": upper_first(predicted),
        "prediction_text": _wrap(predicted),
        "adds": added(adds(p)),
        "changed": "\u2013" if p["change"] is None else signed(p["change"]),
    }


def _why(p: Paired, moved: Sequence[Change]) -> str:
    """Explanation of a pair in a cell: what most of its change is, else the counters that changed most."""
    figures = ((c["label"], number(c["before"], c["unit"]), number(c["after"], c["unit"])) for c in moved[:2])
    counters = ", ".join(f"{label} {before} \u2192 {after}" for label, before, after in figures)
    none = "no counter changed" if p["changes"][1:] or p["verdict"] == SAME else ""
    return p["chief"] or counters or none


def prediction(p: Paired, rules: Mapping[str, Mapping[str, str]]) -> str:
    """`a fix of “idle SMs” (SOL004) was predicted to change the time by −2.0 % (range −5.1 to 0.0 %); measured +4.1 %: regression`.

    "" where the finding is still present, or the time rose for a reason that the counters tell: that tests no fix.
    """
    made = p["predicted"]
    still = made and made["rule"] in p["remaining"] and not any(c["moved"] for c in p["changes"][1:])
    if not made or still or made["doubt"] == UNTRIED:
        return ""
    low, high = (end or 0.0 for end in made["interval"])
    title = lower_first(rules[made["rule"]]["title"])
    text = f"a fix of “{title}” ({made['rule']}) was predicted to change the time by {signed(made['change'] or 0.0)} (range {spread(low, high)})"
    if p["verdict"] == SLOWER and made["achieved"]:
        if p["chief"]:
            return ""
        return text + f"; measured {signed(longer(p) - 1)}: regression"
    if word := OUTCOMES.get(made["doubt"] or made["came_true"] or ""):
        text += f"; measured {signed(longer(p) - 1)}: {word}"
    return text


def _counter(c: Change, label: str) -> dict[str, object]:
    before, after = number(c["before"], c["unit"]), number(c["after"], c["unit"])
    line = _wrap(f"{label:{LABEL_CHARS}} {before:>9} -> {after:9} {c['reading']}".rstrip(), 8)
    return {**c, "before_text": before, "after_text": after, "line": line}


def _wrap(text: str, hang: int = 4) -> str:
    # runs of spaces hold the columns; textwrap keeps them within a line
    return textwrap.fill(text, 80, initial_indent="  ", subsequent_indent=" " * hang, break_on_hyphens=False)


def junit(doc: Comparison) -> str:
    """One test case per listed pair; a failure where it is slower by more than the threshold (any slower one without)."""
    limit = doc["threshold"] or 0.0
    cases = [_case(p, limit) for p in doc["pairs"]]
    cases += _rest(doc, sum(c.failure is not None for c in cases))
    return "".join(junit_xml("triage compare", [Suite("triage compare", cases)]))


def _rest(doc: Comparison, failed: int) -> list[Case]:
    """One case for all unlisted pairs. failed: listed pairs that are slower than allowed."""
    if not (unlisted := _unlisted(doc)):
        return []
    more = doc["totals"]["regressed"] - failed
    why = f"{plural(more, 'unlisted pair')} slower than allowed"
    failure = Failure(why, "regression", unlisted) if more else None
    return [Case("triage compare", "unlisted pairs", 0.0, failure, unlisted)]


def _case(p: Paired, limit: float) -> Case:
    text = f"{time(p['before_ns'])} -> {time(p['after_ns'])}. {p['reading']}"
    group, name = clean(".".join(p["path"]) or "frame")[:MAX_NAME_CHARS], clean(p["name"])[:MAX_NAME_CHARS]
    seconds = (p["after_ns"] or 0) / 1e9
    if regressed(p, limit):
        why = f"time {signed(longer(p) - 1)}, allowed {percent(limit)}"
        return Case(group, name, seconds, Failure(why, "regression", [text]))
    return Case(group, name, seconds, out=[text])
