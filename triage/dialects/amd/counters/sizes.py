"""Sizes and peaks of the GPU that formulas need: from the export's own files, else from the table of devices.

What a run measured or stated comes first: sysinfo.csv or the agent table, and roofline.csv for the memory's peak. The
device, named by the export or with --device, fills in what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from triage import devices
from triage.capture import shape
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.devices import AmdLimits, Device
from triage.dialects.amd.counters import counter_names
from triage.dialects.amd.rocm_export import Export
from triage.dialects.tables import device_name, formulas, wide_table
from triage.schema import normal

# size -> its column in sysinfo.csv, in today's spelling and in that of Omniperf 1.x; clocks in MHz, bandwidth in GB/s
SYSINFO: Mapping[str, tuple[str, ...]] = {
    "cu_per_gpu": ("cu_per_gpu", "numCU"),
    "se_per_gpu": ("se_per_gpu", "numSE"),
    "num_xcd": ("num_xcd",),
    "max_waves_per_cu": ("max_waves_per_cu", "maxWavesPerCU"),
    "total_l2_chan": ("total_l2_chan", "L2Banks"),
    "max_sclk": ("max_sclk", "sclk"),
    "hbm_bw": ("hbm_bw", "hbmBW"),
    "max_mclk": ("max_mclk", "mclk"),
    "num_hbm_channels": ("num_hbm_channels",),
    "wave_size": ("wave_size", "waveSize"),
}
WORDS = {
    "cu_per_gpu": "compute units",
    "se_per_gpu": "shader engines",
    "num_xcd": "dies",
    "max_waves_per_cu": "wave slots",
    "total_l2_chan": "L2 channels",
    "max_sclk": "clock",
    "hbm_bw": "memory bandwidth",
}
MAX_SIZE = 1e12  # of any size


def sizes_of_sysinfo(source: Source, file: int, n: int, odd: Odd) -> tuple[dict[str, Column], str, str]:
    """Sizes of the GPU from a sysinfo.csv: columns that repeat its one row, the architecture, the model name.

    A size of 0 means that the tool could not find it out, and is left out.
    """
    line, headers = wide_table.header(source)
    if line:
        shape.check(source, line + 1, None, headers)
    line = _above_row(source, line)
    rows = source.records([line + 1]) if line else {}
    row = rows.get(line + 1, [])
    found: dict[str, Column] = {}
    texts = {normal(h): row[i].strip() for i, h in enumerate(headers) if i < len(row)}
    places = {normal(h): i for i, h in enumerate(headers)}
    for spec, spellings in SYSINFO.items():
        for spelling in spellings:
            key = normal(spelling)
            value = odd.number(texts.get(key, ""), "us", spelling, line + 1)
            if value < 0 or value > MAX_SIZE:
                odd.add("not-a-number", texts[key], spelling, line + 1)
            elif value > 0:
                at = places[key]
                found[spec] = Column.of_cell(value, headers[at], at + 1, line + 1, rows=n, file=file)
                break
    arch = next((a for k in ("gpu_arch", "gpu_soc") if (a := texts.get(normal(k), "")).startswith("gfx")), "")
    model = next((m for k in ("gpu_model", "name") if (m := texts.get(normal(k)))), "")
    return found, arch.split(":")[0], model


def _above_row(source: Source, header: int) -> int:
    """The line above the first row below a header, since blank lines may stand between them; 0 without a header."""
    below = source.numbered(header + 1) if header else ()
    return next((n - 1 for n, text in below if n > header and text.strip()), header)


def peak_of_roofline(source: Source, file: int, n: int, odd: Odd) -> Column | None:
    """Peak memory bandwidth (GB/s) of the first GPU in a roofline.csv, None when it holds none; BadCapture for a damaged one."""
    line, headers = wide_table.header(source)
    at = wide_table.find(headers, "HBMBw")
    if at < 0:
        return None
    shape.check(source, line + 1, None, headers)
    line = _above_row(source, line)
    cells = source.records([line + 1]).get(line + 1, [])
    value = odd.number(cells[at], "us", headers[at], line + 1) if at < len(cells) else np.nan
    if value < 0 or value > MAX_SIZE:
        odd.add("not-a-number", cells[at], headers[at], line + 1)
    if not 0 < value <= MAX_SIZE:
        return None
    return Column.of_cell(value, headers[at], at + 1, line + 1, rows=n, file=file)


def complete(table: Table, export: Export, wanted: str = "") -> None:
    """Fill in the sizes that the export lacks: what follows from others, then the device's. wanted: of --device."""
    n = len(table)
    specs = export.specs
    if "num_xcd" not in specs and export.arch in counter_names.ONE_XCD:
        specs["num_xcd"] = _fixed(n, 1.0, f"1 ({export.arch} is a single die)")
    if "hbm_bw" not in specs and {"max_mclk", "num_hbm_channels"} <= set(specs):
        mclk, channels = specs["max_mclk"], specs["num_hbm_channels"]
        formula = "max_mclk / 1000 * 32 * num_hbm_channels"  # MHz and bytes per clock and channel: GB/s
        values = mclk.values / 1000 * 32 * channels.values
        specs["hbm_bw"] = Column.computed(values, formula, ("max_mclk", "num_hbm_channels"))
    device = _device(table, export, wanted)
    if device is None:
        return
    export.arch = export.arch or device.arch
    for spec, value in _device_sizes(device).items():
        if value and spec not in specs:
            specs[spec] = _fixed(n, float(value), f"{value:g} ({WORDS[spec]} of the {device.name}, device table)")


def lacking(export: Export, have: set[str], names: set[str]) -> list[str]:
    """Words for the sizes without which counters that are there make no metric.

    have: metrics that are known. names: everything else a formula may find.
    """
    missing: dict[str, None] = {}
    for metric, formula in counter_names.formulas_of(export.arch, names):
        used = set(formulas.names(formula))
        sizes = {u for u in used if u in counter_names.SPECS and u not in export.specs}
        if metric not in have and sizes and used - sizes <= names | have | set(export.specs):
            missing.update(dict.fromkeys(sorted(sizes)))
    return [WORDS[s] for s in missing]


def _device(table: Table, export: Export, wanted: str) -> Device | None:
    stated = (devices.find(text) for text in (wanted, table.device, export.arch) if text)
    found = next((device for device in stated if device is not None and device.vendor == "amd"), None)
    if found is not None and (wanted or found.sm_count is not None):
        return found
    return device_name.by_path(table, export.source, "amd", export.arch) or found


def _device_sizes(device: Device) -> dict[str, float | None]:
    """What the table knows of a device, in the units of sysinfo.csv."""
    peaks, limits = device.peaks, device.limits
    dies = device.dies or (1 if isinstance(limits, AmdLimits) and not limits.agprs else None)  # only CDNA has several
    return {
        "cu_per_gpu": device.sm_count,
        "num_xcd": dies,
        "se_per_gpu": device.shader_engines,
        "total_l2_chan": device.l2_channels,
        "max_waves_per_cu": device.max_warps_per_sm,
        "max_sclk": None if peaks.boost_clock_hz is None else peaks.boost_clock_hz / 1e6,
        "hbm_bw": None if peaks.dram_bytes_per_s is None else peaks.dram_bytes_per_s / 1e9,
    }


def _fixed(n: int, value: float, text: str) -> Column:
    return Column(np.full(n, value), text, formula=text)
