"""What warps of an SM / CU wait for, by reason."""

from triage.ground.stalls import STALLS
from triage.schema._metric import Metric

# one reason, two names, by version of the tool
_ALSO = {"no_instruction": ("no_instructions",), "gmma": ("warpgroup_arrive",)}


def _stall(reason: str, meaning: str) -> tuple[Metric, ...]:
    names = (reason, *_ALSO.get(reason, ()))
    title = reason.replace("_", " ")
    # as the P3 article, RenderDoc and the Perf SDK's tools spell it
    share = tuple(
        a
        for r in names
        for a in (
            f"smsp__warp_stall_{r}_pct",
            f"smsp__warp_issue_stalled_{r}_per_warp_active.avg.pct",
            f"smsp__warp_issue_stalled_{r}_per_warp_active.pct",
        )
    )
    # ncu's raw page today, and its names from before 2019, which the P3 article has too
    cycles = tuple(
        a
        for r in names
        for a in (
            f"smsp__average_warps_issue_stalled_{r}_per_issue_active.ratio",
            f"smsp__warp_cycles_per_issue_stall_{r}",
        )
    )
    # the details page prints the same figure under a display label
    label = "Selected" if reason == "selected" else f"Stall {title.title()}"
    # title() does not know which words are abbreviations
    special = {"lg_throttle": "Stall LG Throttle", "imc_miss": "Stall IMC Miss", "mio_throttle": "Stall MIO Throttle"}
    return (
        Metric(
            f"stall.{reason}",
            "ratio",
            f"Stall: {title}",
            "low",
            f"Share of the active warps' cycles spent {meaning}",
            share,
        ),
        Metric(
            f"stall_cycles.{reason}",
            "count",
            f"Stall cycles: {title}",
            "low",
            f"Warp cycles per issued instruction spent {meaning}",
            (*cycles, special.get(reason, label)),
            bounded=False,
        ),
        # the same wait against another whole: cycles of a warp's life, hundreds where the one above is a few
        Metric(
            f"stall_latency.{reason}",
            "count",
            f"Stall latency: {title}",
            "low",
            f"Cycles of a warp's whole life spent {meaning}",
            tuple(f"smsp__average_warp_latency_issue_stalled_{r}.ratio" for r in names),
            bounded=False,
        ),
        Metric(
            f"stall_samples.{reason}",
            "count",
            f"Stall samples: {title}",
            "low",
            f"Program-counter samples of warps {meaning}",
            tuple(f"smsp__pcsamp_{w}_{r}" for r in names for w in ("warps_issue_stalled", "warp_stall")),
            bounded=False,
            additive=True,
        ),
    )


METRICS = tuple(metric for reason, meaning in STALLS.items() for metric in _stall(reason, meaning))
