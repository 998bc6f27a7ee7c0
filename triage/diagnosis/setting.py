"""The GPU and API a capture comes from, as far as its dialect and device tell: what chooses advice."""

from __future__ import annotations

from typing import TypedDict

from triage.capture.capture import Capture
from triage.derive.api import api_of
from triage.rulebook.cause import FACTS


class Setting(TypedDict, total=False):
    """Words of rulebook.cause.FACTS; a fact that nothing tells is left out."""

    work: str
    vendor: str
    api: str


# first part of a dialect's name -> what it implies
_DIALECTS: dict[str, Setting] = {
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


def setting(capture: Capture) -> Setting:
    """Facts of a capture. A device that is known says its vendor; launches of a compute API say the kind of work."""
    out: Setting = {**_DIALECTS.get(capture.input.dialect.partition("-")[0], {})}
    # frame captures name their calls; a compute API has no draws
    if out.get("work") == "graphics" and "api" not in out and (api := api_of(capture)):
        out["api"] = api
    if capture.device and capture.device.vendor.lower() in FACTS["vendor"]:
        out["vendor"] = capture.device.vendor.lower()
    if "launch.block_size" in capture.facts and "work" not in out:
        out["work"] = "compute"
    return out
