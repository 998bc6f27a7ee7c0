"""The graphics API of a capture, from its dialect or from how its calls are named."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Values
from triage.capture.capture import Capture
from triage.derive import View
from triage.derive._arrays import full
from triage.derive._derivation import Derivation

LOOKED_AT = 2_000  # names of a capture that are asked
# calls that only one API has
_CALLS = (
    ("vulkan", re.compile(r"vk(?:Cmd|Queue)[A-Z]")),
    ("opengl", re.compile(r"gl(?:Draw|Dispatch|Clear|Blit|Multi|Copy)[A-Z(]")),
    ("d3d12", re.compile(r"ID3D12|ExecuteCommandLists|ResourceBarrier|ExecuteIndirect|DispatchRays|DispatchMesh")),
    ("d3d11", re.compile(r"ID3D11|DrawAuto|DrawInstancedIndirect|DrawIndexedInstancedIndirect|DispatchIndirect\b")),
    ("metal", re.compile(r"MTL[A-Z]|drawIndexedPrimitives|dispatchThreadgroups")),
)
APIS = ("d3d11", "d3d12", "vulkan", "opengl", "metal")


def api_of(capture: Capture) -> str:
    """A word of APIS, "" where nothing tells."""
    if (api := capture.input.tells.get("api", "")) in APIS:
        return api
    for name in capture.names[:LOOKED_AT]:
        for api, pattern in _CALLS:
            if pattern.search(str(name)):
                return api
    return ""


def api_known(view: View) -> str:
    """The API of a view's capture, looked for once."""
    return view.whole.once("api", lambda: api_of(view.capture))


def _flag(api: str) -> Derivation:
    def known(view: View) -> Values:
        found = api_known(view)
        return full(found == api, view.size) if found else np.nan

    return Derivation(f"api.{api}", "the dialect, or calls that only one API has", known, whole=True)


DERIVATIONS = tuple(_flag(api) for api in APIS)
