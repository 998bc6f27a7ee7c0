"""The parts of a GPU whose demand a fix can lower, and the metric that says how busy each was (share of peak, elapsed).

Parts behind the roll-ups come first (SM, L1 and L2 are the highest of theirs); fixed-function units are their own SOL.
"""

UNITS = {
    **{part: f"unit.{part}" for part in ("lsu", "l1_data", "shared", "l2", "vram", "math", "issue")},
    **{
        unit: f"{unit}.throughput"
        for unit in ("pcie", "pd", "vaf", "vpc", "pes", "raster", "prop", "zrop", "crop", "rtcore")
    },
}

# in a rule, every part: work that goes takes its demand on all of them along
EVERY = "all"

# roll-up -> the parts it stands for where none of them was measured
ROLLUPS = {"sm.side": ("lsu", "math", "issue"), "memory.side": ("l1_data", "shared", "l2", "vram")}
