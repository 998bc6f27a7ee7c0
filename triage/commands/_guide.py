"""NVIDIA's Compute Triage Guide: its checks, and their results on a capture's longest kernels."""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Capture
from triage.commands._describe import wrap
from triage.diagnosis.diagnosing import Diagnoser
from triage.diagnosis.outcomes import Outcomes
from triage.findings import guide
from triage.findings.decision_path import LIMITS, NOTED, OPEN
from triage.findings.text_fields import path_text
from triage.ground.units import show
from triage.rulebook.packs import Rulebook

MAX_KERNELS = 5  # by self time
_MARK = {LIMITS: "!", NOTED: "+", OPEN: "?"}


def listing(book: Rulebook) -> str:
    """Decisions and checks, with their rules."""
    ids = {r.name: r.id for r in book.rules}
    out = ["NVIDIA's Compute Triage Guide (Nsight Compute) and its rules here"]
    for d in guide.decisions():
        out += ["", f"{d.id}  {d.ask}"]
        for c in d.checks:
            rules = ", ".join(f"{ids[n]} {n}" for n in c.rules if n in ids)
            out.append(f"   {c.id:6} {c.ask}")
            out.append(wrap("; ".join(x for x in (rules, c.instead) if x), " " * 10))
    return "\n".join(out) + "\n"


def way(capture: Capture, doctor: Diagnoser) -> str:
    """The results of the checks on the kernels with the most self time."""
    d = doctor.diagnose([capture])
    times = np.nan_to_num(capture.self_ns, nan=-1.0)
    rows = np.argsort(-times, kind="stable")[:MAX_KERNELS]
    outcomes = Outcomes(d, d.parts[0], np.sort(rows))
    walk = guide.Guide(outcomes)
    place = {int(w): i for i, w in enumerate(outcomes.rows)}
    out = [wrap(f"The Compute Triage Guide on {capture.input.path}"), "! limit   + noted   ? not measured"]
    kernels = [int(w) for w in rows if walk.concerns(place[int(w)])]
    if not kernels:
        none = "The guide covers kernels on NVIDIA GPUs; this capture has none with a grid."
        return "\n".join([out[0], "", none, ""])
    for w in kernels:
        time = float(capture.self_ns[w])
        name = path_text(str(capture.paths[w]), str(capture.names[w]))
        out += ["", wrap(f"w{w + 1} {name}" + (f" ({show(time, 'ns')} self time)" if time == time else ""))]
        for decision, steps in walk.checks(place[w]):
            out.append(f"  {decision.id}  {decision.ask}")
            for s in steps:
                out.append(f"    {_MARK.get(s['state'], ' ')} {s['ask']}")
                out.append(wrap(s["answer"], " " * 8))
    return "\n".join(out) + "\n"
