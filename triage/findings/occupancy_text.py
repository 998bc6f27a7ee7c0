"""Occupancy in words: its limiter and the nearest step that helps."""

from __future__ import annotations

from triage.derive import View
from triage.derive.launch_shape import arguments, model_of
from triage.findings.evidence import at
from triage.ground.errors import TriageError
from triage.schema.kernel import LIMITERS

UNKNOWN = "(not measured)"  # drops the sentence of an advice that needs it


def limiter(view: View, i: int) -> str:
    """What limits the groups per SM of one launch, in words."""
    names = [words for key, words in LIMITERS.items() if at(view[f"limited_by.{key}"], i) == 1]
    return " and ".join(names) or UNKNOWN


def next_step(view: View, i: int) -> str:
    """The smallest change that lets more groups fit: `32 registers instead of 40: 2 blocks fit instead of 1, 80 % of the slots instead of 40 %`."""
    # a view of one row: `arguments` leaves incomplete launches out, so positions in a longer one would shift
    one = View(
        view.capture,
        view.rows[i : i + 1] if not isinstance(view.rows, slice) else [range(len(view.capture))[view.rows][i]],
    )
    # the exported wave width: RDNA runs waves of 32 or 64 lanes, and their limits differ
    asked, model = arguments(one), model_of(view.capture.device, at(view["launch.wave_size"], i))
    if asked is None or model is None:
        return UNKNOWN
    from triage.occupancy.model import Launch
    from triage.occupancy.occupancy_result import single

    try:
        step = single(model, Launch(**{name: int(values[0]) for name, values in asked[1].items()})).best_step
    # a launch the device cannot run has no next step; damaged exports hold such
    except TriageError:
        return UNKNOWN
    return step.words if step else UNKNOWN
