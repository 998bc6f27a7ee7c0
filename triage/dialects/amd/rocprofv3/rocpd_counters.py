"""Counters of a rocpd database, one value per dispatch, and the sizes of its GPU.

Every counter of a dispatch is one row of `rocpd_pmc_event`; instances (dies, channels) have a row each and are summed, as the
view `counters_collection` of ROCm does it. Views are not run: the tables below them have kept their columns since ROCm 6.4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from triage.capture.capture import Column
from triage.dialects.amd import rocm
from triage.dialects.amd.rocm_export import Export
from triage.dialects.amd.rocprofv3.kernel_trace import AGENT_SIZES

if TYPE_CHECKING:
    from triage.capture.arrays import Floats
    from triage.capture.capture import Table
    from triage.dialects.amd.rocprofv3.rocpd_tables import Run

EVENTS, NAMES = "rocpd_pmc_event", "rocpd_info_pmc"


def of_dispatches(run: Run) -> dict[str, Floats]:
    """Counter -> its values, one for each of the run's dispatches; NaN where it was not counted."""
    import pandas as pd

    names = {int(i): name for i, name in run.db.texts(run.table(NAMES), ["id", "name"]) if i.isdigit()}
    if not names or "event_id" not in run.kernels:
        return {}
    keys, values = run.db.measured(run.table(EVENTS), ("event_id", "pmc_id"), "value")
    found = pd.DataFrame({**keys, "value": values})
    found["name"] = found["pmc_id"].map(names)
    summed = found.dropna(subset=["name", "value"]).groupby(["name", "event_id"])["value"].sum()
    events = run.kernels["event_id"]
    return {str(name): events.map(summed[name]).to_numpy(dtype=np.float64) for name in summed.index.unique(level=0)}


def enter(table: Table, run: Run) -> Export | None:
    """The counters of a table's rows, dispatches before copies, as an export for formulas; None where none was collected."""
    found = of_dispatches(run)
    if not found:
        return None
    export = Export(table.files[0], arch=table.arch)
    wanted = rocm.wanted(found)
    blank = np.full(len(run.copies), np.nan)
    for name, values in found.items():
        if name in wanted:
            text = f"{name} of the dispatch, all instances"
            export.counters[name] = Column(np.concatenate([values, blank]), name, formula=text)
    table.unmapped += sorted(set(found) - wanted)
    agent = next((a for a in run.kernels["agent_id"].unique().tolist() if a in run.agents), None)
    rows = run.db.texts(run.table("rocpd_info_agent"), ["id", "extdata"])
    described = next((text for number, text in rows if number == str(agent)), "")
    for size, key in AGENT_SIZES.items():
        if (m := re.search(rf'"{key}":(\d+)', described)) and int(m[1]) > 0:
            text = f"{key} of the agent"
            export.specs[size] = Column(np.full(len(table), float(m[1])), text, formula=text)
    return export
