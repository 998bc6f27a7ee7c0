"""What resident groups leave unused: register file, shared memory, wave slots, lanes."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from triage.devices import NvidiaLimits
from triage.occupancy import amd_model, cuda
from triage.occupancy.model import Launch, Model


class Waste(Struct, frozen=True):
    """Use of one resource: `capacity`, of which resident groups hold `allocated` and asked for `requested`."""

    capacity: int
    allocated: int
    requested: int
    unit: str

    @property
    def free(self) -> int:
        """Not in use."""
        return self.capacity - self.allocated

    @property
    def free_share(self) -> float:
        """Free part of the capacity, 0 to 1."""
        return self.free / self.capacity if self.capacity else 0.0

    @property
    def rounding(self) -> int:
        """Held only because of granules and reserved bytes."""
        return self.allocated - self.requested

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "capacity": self.capacity,
            "allocated": self.allocated,
            "requested": self.requested,
            "free": self.free,
            "free_share": self.free_share,
            "unit": self.unit,
        }


def account(model: Model, launch: Launch, groups: int, waves: int) -> dict[str, Waste]:
    """Waste of one launch per SM, CU or WGP; lanes per group."""
    # The rounding lives in the calculators, which work on arrays: arrays of one keep a single copy of each rule.
    resident = groups * waves
    lanes = waves * model.wave_size
    registers = np.asarray([launch.registers], dtype=np.int32)
    shared = np.asarray([launch.shared], dtype=np.int32)
    if isinstance(model.limits, NvidiaLimits):
        file = 4 * model.limits.registers  # a register is 4 bytes on both vendors
        per_wave = 4 * int(cuda.allocated_registers(model.limits, registers)[0])
        asked = 4 * launch.registers * model.wave_size
        taken = int(cuda.allocated_shared(model.limits, shared)[0])
        room = int(cuda.carveout_for(model.limits, model.cuda, np.asarray([taken], dtype=np.int32))[0])
    else:
        assert model.amd is not None
        limits, options = model.limits, model.amd
        lane_bytes = 4 * options.wave
        file = lane_bytes * limits.vgprs[options.wave] * amd_model.simds(limits, options)
        agprs = None if launch.agprs is None else np.asarray([launch.agprs], dtype=np.int32)
        total = amd_model.total_vgprs(limits, registers, agprs)
        per_wave = lane_bytes * int(amd_model.allocated_vgprs(limits, options, total)[0])
        asked = lane_bytes * int(total[0])
        taken = int(amd_model.allocated_lds(limits, shared)[0])
        room = amd_model.lds(limits, options)
    # Lanes are per group and the same for all of them; the rest is per SM, CU or WGP.
    return {
        "registers": Waste(file, resident * per_wave, resident * asked, "bytes"),
        "shared": Waste(room, groups * taken, groups * launch.shared, "bytes"),
        "waves": Waste(model.slots, resident, resident, model.words["wave"] + "s"),
        "lanes": Waste(lanes, launch.threads, launch.threads, "lanes"),
    }
