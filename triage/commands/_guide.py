"""NVIDIA's Compute Triage Guide: what it asks, and what a capture's longest kernels answer."""

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

SHOWN = 5  # kernels, by their own time
_MARK = {LIMITS: "!", NOTED: "+", OPEN: "?"}


def listing(book: Rulebook) -> str:
    """Decisions and checks, with the rules that ask them."""
    ids = {r.name: r.id for r in book.rules}
    out = ["NVIDIA's Compute Triage Guide (Nsight Compute), as it is asked here"]
    for d in guide.decisions():
        out += ["", f"{d.id}  {d.ask}"]
        for c in d.checks:
            rules = ", ".join(f"{ids[n]} {n}" for n in c.rules if n in ids)
            out.append(f"   {c.id:6} {c.ask}")
            out.append(wrap("; ".join(x for x in (rules, c.instead) if x), " " * 10))
    return "\n".join(out) + "\n"


def way(capture: Capture, doctor: Diagnoser) -> str:
    """The checks, one by one, on the kernels that take the most time."""
    d = doctor.diagnose([capture])
    times = np.nan_to_num(capture.self_ns, nan=-1.0)
    rows = np.argsort(-times, kind="stable")[:SHOWN]
    outcomes = Outcomes(d, d.parts[0], np.sort(rows))
    walk = guide.Guide(outcomes)
    place = {int(w): i for i, w in enumerate(outcomes.rows)}
    out = [wrap(f"The Compute Triage Guide on {capture.input.path}"), "! leads   + noted   ? not measured"]
    kernels = [int(w) for w in rows if walk.concerns(place[int(w)])]
    if not kernels:
        return (
            "\n".join([*out[:1], "", "It is about kernels on NVIDIA GPUs; this capture shows none with its grid."])
            + "\n"
        )
    for w in kernels:
        time = float(capture.self_ns[w])
        name = path_text(str(capture.paths[w]), str(capture.names[w]))
        out += ["", wrap(f"w{w + 1} {name}" + (f" ({show(time, 'ns')} own time)" if time == time else ""))]
        for decision, steps in walk.checks(place[w]):
            out.append(f"  {decision.id}  {decision.ask}")
            for s in steps:
                out.append(f"    {_MARK.get(s['state'], ' ')} {s['ask']}")
                out.append(wrap(s["answer"], " " * 8))
    return "\n".join(out) + "\n"
