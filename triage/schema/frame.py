"""Frame-level timing: what the CPU, the GPU and the display did between two presents.

Sources: PresentMon's and the Unreal CSV profiler's documentation. Means over the frames unless said
otherwise.
"""

from triage.schema._metric import Metric

METRICS = (
    Metric(
        "present.interval",
        "ns",
        "Frame time",
        "low",
        "Time from one frame's start (or present) to the next one's",
        ("FrameTime", "MsBetweenPresents", "MsBetweenAppStart"),
    ),
    Metric("present.median", "ns", "Median frame time", "low", "Half of the frames take no longer"),
    Metric("present.low", "ns", "1 % low frame time", "low", "One frame in a hundred takes longer (99th percentile)"),
    Metric("present.stutter", "ratio", "Stuttering frames", "low", "Frames that take more than twice the median time"),
    Metric(
        "present.gpu_bound", "ratio", "GPU-bound frames", "", "Frames in which the GPU is busy for at least nine tenths"
    ),
    Metric(
        "present.cpu_bound", "ratio", "CPU-bound frames", "", "Frames in which the CPU is busy for at least nine tenths"
    ),
    Metric(
        "present.gpu_share",
        "ratio",
        "GPU busy in the frame",
        "",
        "GPU busy time over frame time: near 100 % the GPU sets the frame rate, far below it does not",
        bounded=False,
    ),
    Metric(
        "present.cpu_share",
        "ratio",
        "CPU busy in the frame",
        "",
        "CPU busy time over frame time: near 100 % the CPU sets the frame rate",
        bounded=False,
    ),
    Metric(
        "cpu.busy",
        "ns",
        "CPU busy",
        "low",
        "Time the CPU worked on the frame before presenting it",
        ("CPUBusy", "MsCPUBusy"),
    ),
    Metric(
        "cpu.wait",
        "ns",
        "CPU wait",
        "low",
        "Time the CPU waited before it could start the next frame",
        ("CPUWait", "MsCPUWait"),
    ),
    Metric(
        "cpu.present",
        "ns",
        "Time in Present()",
        "low",
        "Time spent inside the Present() call",
        ("MsInPresentAPI",),
    ),
    Metric(
        "cpu.game_thread",
        "ns",
        "Game thread",
        "low",
        "Busy time of the game (main) thread",
        ("GameThreadTime",),
    ),
    Metric(
        "cpu.render_thread",
        "ns",
        "Render thread",
        "low",
        "Busy time of the render thread",
        ("RenderThreadTime",),
    ),
    Metric(
        "cpu.rhi_thread",
        "ns",
        "RHI thread",
        "low",
        "Busy time of the thread that submits to the graphics API",
        ("RHIThreadTime",),
    ),
    Metric(
        "gpu.busy_time",
        "ns",
        "GPU busy time",
        "low",
        "Time at least one GPU engine worked for the frame",
        ("MsGPUBusy", "MsGPUActive"),
    ),
    Metric(
        "gpu.wait",
        "ns",
        "GPU wait",
        "low",
        "Time the GPU was idle between the frame's first and last GPU work",
        ("GPUWait", "MsGPUWait"),
    ),
    Metric(
        "gpu.latency",
        "ns",
        "GPU latency",
        "low",
        "Time from the frame's start on the CPU to its first GPU work",
        ("GPULatency", "MsGPULatency"),
    ),
    Metric(
        "gpu.video_busy",
        "ns",
        "Video engines busy",
        "",
        "Time the video engines worked for the frame",
        ("VideoBusy", "MsVideoBusy", "MsGPUVideoBusy", "MsGPUVideoActive"),
    ),
    Metric(
        "display.latency",
        "ns",
        "Display latency",
        "low",
        "Time from the frame's start on the CPU to its display",
        ("DisplayLatency", "MsDisplayLatency"),
    ),
    Metric(
        "display.time",
        "ns",
        "Displayed time",
        "",
        "How long the frame stayed on screen",
        ("DisplayedTime", "MsDisplayedTime"),
    ),
)
