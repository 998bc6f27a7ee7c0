"""The graphics pipeline: primitives, pixels, depth culling, queues and drains.

Names are PerfWorks counters, as Nsight Graphics, the Nsight Perf SDK and the NVIDIA plug-ins of RenderDoc
and PIX print them.
"""

from triage.schema._metric import Metric

_PCT = ".avg.pct_of_peak_sustained_elapsed"


def _pct(counter: str) -> tuple[str, ...]:
    return (f"{counter}_realtime{_PCT}", f"{counter}{_PCT}")


def _sum(counter: str) -> tuple[str, ...]:
    return (f"{counter}_realtime.sum", f"{counter}.sum")


def _share(id: str, label: str, better: str, meaning: str, *counters: str) -> Metric:
    return Metric(id, "ratio", label, better, meaning, tuple(a for c in counters for a in _pct(c)))


def _count(id: str, label: str, better: str, meaning: str, *counters: str, also: tuple[str, ...] = ()) -> Metric:
    return Metric(id, "count", label, better, meaning, (*(a for c in counters for a in _sum(c)), *also), additive=True)


METRICS = (
    # whole pipes
    Metric(
        "world_pipe.throughput",
        "ratio",
        "World pipe SOL",
        "",
        "Highest share of peak among the units before the rasteriser",
        (f"GPUTrace.WorldPipe_throughput{_PCT}", f"WorldPipe_throughput{_PCT}"),
    ),
    Metric(
        "screen_pipe.throughput",
        "ratio",
        "Screen pipe SOL",
        "",
        "Highest share of peak among the units from the rasteriser on",
        (f"GPUTrace.ScreenPipe_throughput{_PCT}", f"ScreenPipe_throughput{_PCT}"),
    ),
    Metric(
        "fe.throughput",
        "ratio",
        "Front-end SOL",
        "",
        "Share of peak of the command front end",
        (f"fe__throughput{_PCT}",),
    ),
    _share(
        "crop.read_throughput",
        "CROP read SOL",
        "",
        "Share of the colour ROPs' peak read rate",
        "crop__read_throughput",
    ),
    _share(
        "crop.write_throughput",
        "CROP write SOL",
        "",
        "Share of the colour ROPs' peak write rate",
        "crop__write_throughput",
    ),
    _share(
        "zrop.read_throughput",
        "ZROP read SOL",
        "",
        "Share of the depth ROPs' peak read rate",
        "zrop__read_throughput",
    ),
    _share(
        "zrop.write_throughput",
        "ZROP write SOL",
        "",
        "Share of the depth ROPs' peak write rate",
        "zrop__write_throughput",
    ),
    # primitives and pixels
    _count(
        "prims.input",
        "Primitives in",
        "low",
        "Primitives fetched by the primitive distributor",
        "pda__input_prims",
        also=("Input Primitives", "IA Primitives"),
    ),
    _count(
        "prims.rasterized",
        "Primitives rasterised",
        "low",
        "Primitives that reached the rasteriser",
        also=("Rasterized Primitives", "Clipper Primitives Out"),
    ),
    _count(
        "vertices.input",
        "Vertices in",
        "low",
        "Vertices fetched",
        also=("Input Vertices Read", "IA Vertices"),
    ),
    _count("invocations.vs", "VS invocations", "low", "Vertex shader invocations", also=("VS Invocations",)),
    _count("invocations.ps", "PS invocations", "low", "Pixel shader invocations", also=("PS Invocations",)),
    _count(
        "invocations.cs",
        "CS invocations",
        "low",
        "Compute shader invocations (threads)",
        also=("CS Invocations",),
    ),
    _count(
        "pixels.passed",
        "Samples passed",
        "",
        "Samples that passed depth and stencil test",
        also=("Samples Passed",),
    ),
    _count(
        "pixels.shaded",
        "Pixels from the rasteriser",
        "low",
        "Pixels that entered the pre-ROP unit from 3D work",
        "prop__input_pixels_type_3d",
    ),
    _count(
        "pixels.depth_tested",
        "Pixels depth-tested",
        "low",
        "Pixels sent to the depth ROPs",
        "prop__prop2zrop_pixels",
    ),
    _count(
        "pixels.depth_passed",
        "Pixels that passed depth",
        "",
        "Pixels the depth ROPs let through",
        "prop__prop2zrop_pixels_op_passed",
    ),
    _count(
        "pixels.written",
        "Pixels to the colour ROPs",
        "low",
        "Pixels sent to the colour ROPs",
        "prop__prop2crop_pixels",
    ),
    _share(
        "pixels.late_z",
        "Late depth tests",
        "low",
        "Depth ROP input spent on tests after the pixel shader, share of peak",
        "prop__prop2zrop_pixels_stage_latez",
    ),
    Metric(
        "pixels.per_primitive",
        "count",
        "Pixels per primitive",
        "high",
        "Pixels shaded per primitive fetched",
        bounded=False,
    ),
    _count(
        "zcull.samples",
        "ZCULL input",
        "",
        "Samples that reached coarse depth culling",
        "raster__zcull_input_samples",
    ),
    _count(
        "zcull.accepted",
        "ZCULL accepted",
        "",
        "Samples that coarse depth culling let through",
        "raster__zcull_input_samples_op_accepted",
    ),
    Metric(
        "zcull.reject_rate",
        "ratio",
        "ZCULL rejection",
        "high",
        "Samples that coarse depth culling threw away",
    ),
    # queues, drains, counts
    _share(
        "compute.sync_active",
        "Compute on the direct queue",
        "",
        "Elapsed cycles with compute work of the graphics queue",
        "gr__compute_cycles_active_queue_sync",
    ),
    _share(
        "compute.async_active",
        "Compute on an async queue",
        "",
        "Elapsed cycles with compute work of an asynchronous queue",
        "gr__compute_cycles_active_queue_async",
    ),
    _share(
        "wfi.sync",
        "Wait-for-idle stall",
        "low",
        "Elapsed cycles the front end waited for the graphics queue to drain",
        "fe__cycles_stalled_cmd_wfi_queue_sync",
    ),
    _share(
        "wfi.async",
        "Wait-for-idle stall, async",
        "low",
        "Elapsed cycles the front end waited for an async queue to drain",
        "fe__cycles_stalled_cmd_wfi_queue_async",
    ),
    _count(
        "wfi.go_idle",
        "Drains",
        "low",
        "Commands that drain the graphics queue",
        "fe__output_ops_cmd_go_idle_queue_sync",
    ),
    _count(
        "wfi.switches",
        "Graphics/compute switches",
        "low",
        "Switches between graphics and compute on the graphics queue",
        "fe__output_ops_cmd_subchsw_queue_sync",
    ),
    _count("barrier.pixel", "Pixel-shader barriers", "low", "Pixel-shader barriers", "fe__pixel_shader_barriers"),
)
