"""Occupancy calculator: what limits it, what is unused, and the smallest change that helps.

    from triage.occupancy import occupancy

    now = occupancy("gfx906", threads=1024, registers=40, shared=32 * 1024)
    now.groups, now.occupancy, now.limiters       # 1, 0.4, ("registers",)
    now.best_step.text                            # 40 -> 32 VGPR: 1 -> 2 groups, 40 % -> 80 %

The same call takes NumPy arrays. `triage.occupancy(...)` works too: the module itself is callable.
Which model is followed for which generation, and where sources disagree: docs/occupancy.md.
"""

from __future__ import annotations

import sys
import types
from typing import overload

import numpy as np

from triage.devices import limits_of
from triage.occupancy.core import LIMITERS, UNLIMITED, Numbers
from triage.occupancy.cuda import CudaOptions
from triage.occupancy.grid import LaunchShape, launch_shape, warps_needed
from triage.occupancy.model import Launch, Model, model_for
from triage.occupancy.occupancy_result import Occupancy, OccupancyArray, single
from triage.occupancy.steps import Change, Plateau, Step
from triage.occupancy.tile import Tile, tile
from triage.occupancy.waste import Waste

__all__ = [
    "LIMITERS",
    "UNLIMITED",
    "Change",
    "Launch",
    "LaunchShape",
    "Model",
    "Occupancy",
    "OccupancyArray",
    "Plateau",
    "Step",
    "Tile",
    "Waste",
    "launch_shape",
    "occupancy",
    "tile",
    "warps_needed",
]


@overload
def occupancy(  # type: ignore[overload-overlap]
    arch: str,
    threads: int,
    registers: int,
    shared: int = 0,
    sgprs: int | None = None,
    wave: int | None = None,
    mode: str | None = None,
    *,
    agprs: int | None = None,
    barriers: int | None = None,
    optin: bool = True,
    carveout: int = -1,
    cache: str = "none",
    global_caching: str = "off",
) -> Occupancy: ...
@overload
def occupancy(
    arch: str,
    threads: int | Numbers,
    registers: int | Numbers,
    shared: int | Numbers = 0,
    sgprs: int | Numbers | None = None,
    wave: int | None = None,
    mode: str | None = None,
    *,
    agprs: int | Numbers | None = None,
    barriers: int | Numbers | None = None,
    optin: bool = True,
    carveout: int = -1,
    cache: str = "none",
    global_caching: str = "off",
) -> OccupancyArray: ...


def occupancy(
    arch: str,
    threads: int | Numbers,
    registers: int | Numbers,
    shared: int | Numbers = 0,
    sgprs: int | Numbers | None = None,
    wave: int | None = None,
    mode: str | None = None,
    *,
    agprs: int | Numbers | None = None,
    barriers: int | Numbers | None = None,
    optin: bool = True,
    carveout: int = -1,
    cache: str = "none",
    global_caching: str = "off",
) -> Occupancy | OccupancyArray:
    """Theoretical occupancy of a launch, or of arrays of launches that broadcast.

    `arch` is an architecture or device in any usual spelling. `threads` per group, `registers`
    (VGPR) per thread, `shared` bytes per group, static and dynamic together. AMD: `sgprs` with VCC
    and the like, `agprs`, `wave` 32 or 64, `mode` "cu" or "wgp". NVIDIA: `barriers` per block
    (limiting from 9.0 on) and the settings of CudaOptions.

    Numbers beyond the hardware give 0 groups and a reason in `.why`; negative or fractional ones,
    unknown architectures and impossible settings raise TriageError.
    """
    model = model_for(limits_of(arch), wave, mode, CudaOptions(optin, carveout, cache, global_caching))
    values = {
        "threads": threads,
        "registers": registers,
        "shared": shared,
        "sgprs": sgprs,
        "agprs": agprs,
        "barriers": barriers,
    }
    given = {name: value for name, value in values.items() if value is not None}
    if all(np.ndim(value) == 0 for value in given.values()):
        # One launch gets the full answer with steps and notes; arrays get columns, and `at` for one of them.
        model.run(**given)  # refuses what is not a whole number before it is cut to one
        return single(model, Launch(**{name: int(min(value, UNLIMITED)) for name, value in given.items()}), arch)
    return OccupancyArray(model, given, *model.count(**given))


class _CallableModule(types.ModuleType):
    """Lets the front door say triage.occupancy(...) although a module has that name."""

    __call__ = staticmethod(occupancy)


sys.modules[__name__].__class__ = _CallableModule
