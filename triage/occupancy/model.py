"""One architecture with its settings, ready to answer for one launch or for millions."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from triage.devices import AmdLimits, Limits, NvidiaLimits
from triage.ground.errors import TriageError
from triage.occupancy import amd_model, cuda
from triage.occupancy.amd_model import AmdOptions
from triage.occupancy.core import Bits, Core, Ints, Numbers
from triage.occupancy.cuda import CudaOptions

# Arrays longer than this are worked through in pieces that stay in the processor's cache.
_CHUNK = 16384
# Beyond any hardware; larger numbers are cut to these so that products neither overflow nor leave
# the range in which `divide` is exact.
_CEILING = {"threads": 1 << 16, "shared": 1 << 22}
_CEILING |= dict.fromkeys(("registers", "sgprs", "agprs", "barriers"), 1 << 12)


class Launch(Struct, frozen=True):
    """What one group asks for: threads, registers per thread (AMD: VGPRs), bytes of shared memory (LDS), ...

    `shared` is static and dynamic together, without the driver's reserve. `sgprs`, `agprs` (AMD) and `barriers`
    (NVIDIA) are None where they are not known.
    """

    threads: int
    registers: int
    shared: int = 0
    sgprs: int | None = None
    agprs: int | None = None
    barriers: int | None = None


class Model(Struct, frozen=True):
    """Limits of an architecture plus the settings under which a launch is judged."""

    limits: Limits
    cuda: CudaOptions
    amd: AmdOptions | None

    @property
    def nvidia(self) -> bool:
        """Whether NVIDIA's words and rules apply."""
        return isinstance(self.limits, NvidiaLimits)

    @property
    def unit(self) -> str:
        """What the numbers are per: SM, CU or WGP."""
        if self.amd is None:  # NVIDIA
            return "SM"
        return self.amd.mode.upper()

    @property
    def wave_size(self) -> int:
        """Lanes of a warp or wave."""
        return self.limits.warp_size if isinstance(self.limits, NvidiaLimits) else self._amd().wave

    @property
    def slots(self) -> int:
        """Most warps or waves resident on one unit."""
        if isinstance(self.limits, NvidiaLimits):
            return self.limits.max_warps
        return self.limits.waves_per_simd * amd_model.simds(self.limits, self._amd())

    @property
    def words(self) -> dict[str, str]:
        """The vendor's own names for group, wave, shared memory and registers."""
        if self.nvidia:
            return {"group": "block", "wave": "warp", "shared": "shared memory", "registers": "registers"}
        return {"group": "group", "wave": "wave", "shared": "LDS", "registers": "VGPR"}

    def cap(self, resource: str) -> int:
        """Most of `resource` (threads, registers, shared, sgprs) that one group or thread may ask for."""
        limits = self.limits
        if resource == "threads":
            return limits.max_threads_per_group
        if isinstance(limits, NvidiaLimits):
            caps = {"registers": limits.registers_per_thread, "shared": cuda.shared_cap(limits, self.cuda)}
        else:
            caps = {
                "registers": limits.vgprs_per_wave,
                "shared": limits.lds_per_group,
                "sgprs": amd_model.sgpr_cap(limits),
            }
        return caps[resource]

    def run(self, **arguments: object) -> Core:
        """Evaluate launches given as numbers or arrays that broadcast; raises TriageError.

        Arguments are those of Launch; the arrays of the result have the broadcast shape.
        """
        flat, shape = _aligned(arguments)
        core = self._piece(flat)
        limits = {name: limit.reshape(shape) for name, limit in core.limits.items()}
        return Core(core.waves.reshape(shape), limits, core.groups.reshape(shape), core.binding.reshape(shape))

    def count(self, **arguments: object) -> tuple[Ints, Bits]:
        """Only `groups` and `binding` of `run`, several times faster for millions of launches; raises TriageError."""
        flat, shape = _aligned(arguments)
        size = math.prod(shape)
        groups, binding = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.uint8)
        for start in range(0, size, _CHUNK):
            piece = slice(start, start + _CHUNK)
            core = self._piece({name: array[piece] for name, array in flat.items()})
            groups[piece], binding[piece] = core.groups, core.binding
        return groups.reshape(shape), binding.reshape(shape)

    def _piece(self, flat: dict[str, Numbers]) -> Core:
        ints = {name: array.astype(np.int32, copy=False) for name, array in flat.items()}
        threads, registers, shared = ints["threads"], ints["registers"], ints["shared"]
        if isinstance(self.limits, NvidiaLimits):
            return cuda.evaluate(self.limits, self.cuda, threads, registers, shared, ints.get("barriers"))
        return amd_model.evaluate(
            self.limits, self._amd(), threads, registers, shared, ints.get("sgprs"), ints.get("agprs")
        )

    # Both exist exactly where the limits are AMD's; the type checker cannot know.
    def _amd(self) -> AmdOptions:
        assert self.amd is not None
        return self.amd

    def with_limit(self, field: str, value: int) -> Model:
        """The same model with one hardware limit changed, as another source has it."""
        changed: dict[str, int] = {field: value}
        return replace(self, limits=replace(self.limits, **changed))


def model_for(
    limits: Limits, wave: int | None = None, mode: str | None = None, options: CudaOptions | None = None
) -> Model:
    """The model of an architecture; raises TriageError where wave or mode do not exist there."""
    if isinstance(limits, AmdLimits):
        return Model(limits, CudaOptions(), amd_model.options_for(limits, wave, mode))
    if wave not in (None, limits.warp_size):
        raise TriageError(f"--wave {wave}: {limits.arch} runs warps of {limits.warp_size} threads")
    if mode is not None:
        raise TriageError(f"--mode {mode!r}: {limits.arch} is an NVIDIA architecture", "remove --mode")
    return Model(limits, options or CudaOptions(), None)


def _aligned(arguments: dict[str, object]) -> tuple[dict[str, Numbers], tuple[int, ...]]:
    """The arguments as flat arrays of equal length, and the shape they broadcast to."""
    arrays = {name: _whole(name, value) for name, value in arguments.items() if value is not None}
    # shared memory is the one resource that may be left out: without it nothing is used
    arrays.setdefault("shared", np.zeros((), dtype=np.int32))
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        sizes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise TriageError(f"arrays of different shapes: {sizes}") from None
    return {
        name: array.reshape(-1) if array.shape == shape else np.broadcast_to(array, shape).reshape(-1)
        for name, array in arrays.items()
    }, shape


def _whole(name: str, value: object) -> Numbers:
    """`value` as an array of whole numbers that fit int32; raises TriageError for anything else."""
    if isinstance(value, int):
        value = min(value, 2 * _CEILING[name])  # NumPy has no integers beyond 64 bits
    array: Numbers = np.asarray(value)
    least = 1 if name == "threads" else 0
    if array.dtype.kind == "f" and not bool((array == np.floor(array)).all()):
        raise TriageError(f"{name}: expected whole numbers", "drop missing values first")
    if array.dtype.kind not in "iuf":
        what = f"an array of {array.dtype}" if array.ndim else repr(value)
        raise TriageError(f"{name} {what}: expected a whole number")
    # Cut, not refused: a number beyond the hardware is an honest question with the answer 0.
    if array.size:
        low, high = array.min(), array.max()
        if low < least:
            raise TriageError(f"{name} {int(low)}: expected {least} or more")
        if high > _CEILING[name]:
            array = np.minimum(array, np.asarray(_CEILING[name], dtype=np.int64))
    return array
