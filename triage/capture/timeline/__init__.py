"""Who waited for whom: busy and idle time of every device, and what the host did in each gap."""

from triage.capture.timeline.trace_model import MAX_DEVICES, build

__all__ = ["MAX_DEVICES", "build"]
