"""The gallery of the site: a page, and six reports made from bundled captures when the site is built (a hook of mkdocs)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent.parent / "sample_captures"
# name -> (capture, title, what to look at)
REPORTS = {
    "frame": ("gpu-trace/demo_frame", "A 4K frame, NVIDIA GPU Trace", "passes in frame order, limiters, and 19 items of a to-do list"),
    "kernels": ("ncu-rep/transpose.ncu-rep", "CUDA kernels, Nsight Compute", "source lines, and what their stalls wait for"),
    "training": ("pytorch-trace/training.pt.trace.json", "Training steps, PyTorch", "idle time by reason, exposed communication, operators with their roof"),
    "two-gpus": ("nsys-sqlite/training_two_gpus.sqlite", "Two GPUs, Nsight Systems", "the timeline of each device, and its longest gaps"),
    "mi210": ("rocprof-compute/four_kernels_mi210", "HIP kernels on an MI210, ROCm Compute Profiler", "waits and units in AMD's words"),
    "phone": ("mobile/mali-frame.csv", "A frame of a phone, Arm Streamline", "tile memory, overdraw and external bandwidth"),
}  # fmt: skip


def page() -> str:
    """The page that lists the reports."""
    rows = [f"| [{title}](gallery/{name}.html) | {look} |" for name, (_, title, look) in REPORTS.items()]
    return "\n".join(
        [
            "# Gallery\n",
            "See what triage writes before you install it: six reports, made from the bundled captures when this site was built. Each is one file "
            "that loads nothing from a network. `triage diagnose CAPTURE -o report.html` makes yours.\n",
            "| report | look at |\n|:--|:--|",
            *rows,
            "\nThe captures are synthetic unless their page says otherwise; `sample_captures/README.md` has the source of each.\n",
        ]
    )


def report(capture: str) -> str:
    """The HTML report of one bundled capture."""
    import triage
    from triage.rendering import formats

    parts: list[str] = []
    formats.render(triage.diagnose(os.path.relpath(SAMPLES / capture)).bundle, "html", parts.append)
    return "".join(parts)


def on_files(files: Any, config: Any) -> Any:
    """Add the page and its reports to a site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "gallery.md", content=page()))
    for name, (capture, _, _) in REPORTS.items():
        files.append(File.generated(config, f"gallery/{name}.html", content=report(capture)))
    return files
