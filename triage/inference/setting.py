"""The GPU and API a capture comes from, as far as its dialect, device and counters tell: what chooses rules and advice."""

from __future__ import annotations

from triage.capture.capture import Capture
from triage.derive.api import api_of
from triage.derive.vendor import vendor_of

# first part of a dialect's name -> words of rulebook.applies.FACTS that it implies
_DIALECTS = {
    "ncu": {"work": "compute", "vendor": "nvidia", "api": "cuda"},
    "nsys": {"work": "compute", "vendor": "nvidia", "api": "cuda"},
    "nvprof": {"work": "compute", "vendor": "nvidia", "api": "cuda"},
    "rocprof": {"work": "compute", "vendor": "amd", "api": "hip"},
    "rocprofv3": {"work": "compute", "vendor": "amd", "api": "hip"},
    "rocm": {"work": "compute", "vendor": "amd", "api": "hip"},
    "rcp": {"work": "compute", "vendor": "amd", "api": "opencl"},
    "rga": {"vendor": "amd"},
    "intel": {"work": "compute", "vendor": "intel", "api": "sycl"},
    "gpu": {"work": "graphics", "vendor": "nvidia"},
    "nvperf": {"vendor": "nvidia"},
    "pix": {"work": "graphics", "api": "d3d12"},
    "renderdoc": {"work": "graphics"},
    "unreal": {"work": "graphics"},
    "presentmon": {"work": "graphics"},
    "xcode": {"work": "graphics", "vendor": "apple", "api": "metal"},
    "mobile": {"work": "graphics"},
}
_DRAWN = ("bottleneck.", "pixels.", "prims.", "vertices.")  # counters that only drawing moves


def setting(capture: Capture) -> dict[str, str]:
    """Facts of a capture: words of rulebook.applies.FACTS and `arch`; what nothing tells is left out.

    A device or counters that only one vendor has say the vendor; launches of a compute API say the kind of work.
    """
    out = dict(_DIALECTS.get(capture.input.dialect.partition("-")[0], {}))
    # frame captures name their calls; a compute API has no draws
    if out.get("work") == "graphics" and "api" not in out and (api := api_of(capture)):
        out["api"] = api
    # the same tool may have watched a frame
    drawn = any(m.startswith(_DRAWN) for m in capture.facts)
    if drawn and out.get("work") == "compute":
        del out["work"]
    if vendor := vendor_of(capture):
        out["vendor"] = vendor
    # a frame has dispatches with block sizes too, beside its draws
    if (
        not drawn
        and "work" not in out
        and "launch.block_size" in capture.facts
        and set(capture.kinds.tolist()) <= {"compute", ""}
    ):
        out["work"] = "compute"
    if capture.device is not None and capture.device.arch:
        out["arch"] = capture.device.arch
    return out
