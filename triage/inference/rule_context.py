"""The GPU and API a capture comes from, as far as its dialect, device and counters tell: they choose rules and advice."""

from __future__ import annotations

from triage.capture.capture import Capture
from triage.capture.trace_nouns import FROM_DEVICE, TO_DEVICE, way_of
from triage.derive import View
from triage.derive.api_kind import api_known
from triage.derive.vendor import drawn, of_a_frame, tiler_of, vendor_of

WAYS = {TO_DEVICE: "up", FROM_DEVICE: "down"}


def setting(view: View) -> dict[str, str]:
    """Facts of a view's capture: words of rulebook.applies.FACTS and `arch`; unknown ones are left out.

    A device or counters of one vendor alone give the vendor; launches of a compute API give the kind of work.
    """
    return view.whole.once("setting", lambda: _setting(view, view.capture))


def _setting(view: View, capture: Capture) -> dict[str, str]:
    out = dict(capture.input.tells)
    # frame captures name their calls; a compute API has no draws
    if out.get("work") == "graphics" and "api" not in out and (api := api_known(view)):
        out["api"] = api
    # the same tool may have watched a frame
    of_frame = of_a_frame(capture)
    if of_frame and out.get("work") == "compute":
        del out["work"]
    if vendor := vendor_of(capture):
        out["vendor"] = vendor
    # a frame has dispatches with block sizes too, beside its draws
    if (
        not of_frame
        and "work" not in out
        and "launch.block_size" in capture.facts
        and set(capture.kinds.tolist()) <= {"compute", ""}
    ):
        out["work"] = "compute"
    if capture.device is not None and capture.device.arch:
        out["arch"] = capture.device.arch
    return out


def gpu_facts(view: View) -> dict[str, str]:
    """Facts of a view's capture that choose words and advice: those of `setting`, and likely ones that choose no rule.

    A capture with draws is a frame; a GPU without known limits is recognised by its name, or by counters of one vendor's tool.
    """
    return view.whole.once("gpu facts", lambda: _gpu_facts(view))


def _gpu_facts(view: View) -> dict[str, str]:
    out = dict(setting(view))
    if drawn(view):
        out.setdefault("work", "graphics")
    if vendor := tiler_of(view.capture):
        out.setdefault("vendor", vendor)
    if view.capture.device is not None and view.capture.device.host_link:
        out["link"] = view.capture.device.host_link
    copying = view.capture.copying
    names = {*(() if copying is None else view.capture.names[copying])}
    ways = {WAYS.get(way_of(str(name)), "") for name in names} - {""}
    if len(ways) == 1:
        out["copied"] = ways.pop()
    return out
