"""Queues of a frame as a picture in the page, and as lines in the terminal."""

import json
from pathlib import Path

from tests.conftest import SAMPLES
from triage.api import diagnose
from triage.rendering import formats

_WORK = (("Shadows", 2, 0, 2000), ("Opaque", 2, 2100, 4000), ("SSAO", 3, 2500, 3000), ("Post", 2, 6200, 900))


def _page(path: Path) -> str:
    parts: list[str] = []
    formats.render(diagnose(str(path)).bundle, "html", parts.append)
    return "".join(parts)


def test_the_page_draws_a_lane_per_queue(tmp_path: Path) -> None:
    names = [
        {"ph": "M", "pid": 7, "tid": t, "name": "thread_name", "args": {"name": f"GPU {word} Queue"}}
        for t, word in ((2, "Graphics"), (3, "Compute"))
    ]
    work = [
        {"ph": "X", "pid": 7, "tid": t, "ts": 1000 + ts, "dur": dur, "cat": "gpu", "name": n} for n, t, ts, dur in _WORK
    ]
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"displayTimeUnit": "ms", "traceEvents": [*names, *work]}), encoding="utf-8")
    page = _page(path)
    shown = page[page.index('id="queues"') :]
    assert shown.index("GPU Graphics Queue: busy 6.9 ms") < shown.index("GPU Compute Queue: busy 3 ms")
    assert shown[: shown.index("</section>")].count("<svg") == 2


def test_a_frame_without_queues_has_no_lanes() -> None:
    assert 'id="queues"' not in _page(SAMPLES / "gpu-trace" / "demo_frame")
