"""What limits how many groups of a compute kernel an SM holds."""

from triage.schema._metric import flag

# words for what triage.occupancy calls by one name each
LIMITERS = {
    "registers": "registers",
    "shared": "shared memory",
    "groups": "group slots per SM",
    "warps": "warp slots at this group size",
    "barriers": "hardware barriers",
}

METRICS = tuple(
    flag(f"limited_by.{k}", f"Occupancy limited by {t}", f"1 when {t} limits how many groups fit on an SM")
    for k, t in LIMITERS.items()
)
