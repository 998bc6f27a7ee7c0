"""How many clusters of groups a GPU holds at a time (compute capability 9.0 and later).

The groups of a cluster start together on the SMs of one graphics processing cluster (GPC). How the SMs of a product are
spread over its GPCs differs from die to die, so the answer is a range; on the device itself
`cudaOccupancyMaxActiveClusters` tells. Source: CUDA C++ Programming Guide, "Thread Block Clusters".
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from triage.devices import ClusterLayout
from triage.ground.errors import TriageError

SMS_PER_TPC = 2  # products lose SMs in pairs: a texture processing cluster (TPC) is there or not


class Clusters(Struct, frozen=True):
    """Clusters of `size` groups resident at a time: at least `least`, at most `most`, by where the SMs lie.

    `groups` are resident per SM without clusters, `warps` are those of one group, `slots` the warp slots of an SM.
    """

    layout: ClusterLayout
    size: int
    sms: int
    groups: int
    warps: int
    slots: int
    least: int
    most: int

    def share(self, clusters: int) -> float:
        """Part of the GPU's warp slots, 0 to 1, that so many clusters fill."""
        return clusters * self.size * self.warps / (self.sms * self.slots)

    @property
    def portable(self) -> bool:
        """Whether every GPU with clusters takes this size."""
        return self.size <= self.layout.portable

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "size": self.size,
            "portable": self.portable,
            "gpcs": self.layout.gpcs,
            "sms_per_gpc": self.layout.sms_per_gpc,
            "sms": self.sms,
            "least": self.least,
            "most": self.most,
            "occupancy_least": self.share(self.least),
            "occupancy_most": self.share(self.most),
            "occupancy_without": self.share(self.sms * self.groups // self.size) if self.groups else 0.0,
            "source": self.layout.source,
        }


def resident(layout: ClusterLayout, size: int, sms: int, groups: int, warps: int, slots: int) -> Clusters:
    """Clusters of `size` groups on `sms` SMs that hold `groups` such groups each; raises TriageError.

    warps: of one group; slots: warp slots per SM.
    """
    if not 1 <= size <= layout.most:
        raise TriageError(f"--cluster {size}: {layout.arch} allows 1 to {layout.most} groups per cluster")
    whole = layout.gpcs * layout.sms_per_gpc
    if not 1 <= sms <= whole:
        raise TriageError(f"--units {sms}: {layout.chip} has at most {whole} SMs")
    least, most = _range(layout.gpcs, layout.sms_per_gpc, sms, groups, size)
    return Clusters(layout, size, sms, groups, warps, slots, least, most)


@cache
def _range(gpcs: int, each: int, sms: int, groups: int, size: int) -> tuple[int, int]:
    """Fewest and most whole clusters over all ways to spread the SMs over the GPCs, pairs of SMs staying together."""
    step = SMS_PER_TPC if sms % SMS_PER_TPC == 0 else 1
    found: dict[int, tuple[int, int]] = {0: (0, 0)}  # SMs placed so far -> fewest and most clusters
    for _ in range(gpcs):
        after: dict[int, tuple[int, int]] = {}
        for placed, (low, high) in found.items():
            for here in range(0, min(each, sms - placed) + 1, step):
                fit = here * groups // size
                old = after.get(placed + here, (low + fit, high + fit))
                after[placed + here] = min(old[0], low + fit), max(old[1], high + fit)
        found = after
    return found[sms]
