"""Counters of AMD's GPU Performance API by metric, as RenderDoc, PIX and people's own tables hold them.

Percent and byte meanings from its counter tables: FetchSize is in bytes here, in kilobytes where rocprof says it.
"""

from __future__ import annotations

from collections.abc import Iterable

from triage import schema

METRICS = {
    "L2CacheHit": "l2.hit_rate",
    "L0CacheHit": "l1tex.hit_rate",
    "FetchSize": "vram.bytes_read",
    "WriteSize": "vram.bytes_written",
    "VALUBusy": "valu.busy",
    "VALUUtilization": "valu.utilization",
    "SALUBusy": "salu.busy",
    "MemUnitBusy": "mem_unit.busy",
    "MemUnitStalled": "mem_unit.stalled",
    "WriteUnitStalled": "mem_unit.write_stalled",
    "LDSBankConflict": "lds.bank_conflict_stall",
    "CSLDSBankConflict": "lds.bank_conflict_stall",
    "Wavefronts": "waves.launched",
    "PSPixelsIn": "pixels.shaded",
    "PrimitivesIn": "prims.input",
    "CulledPrims": "prims.thrown_away",
    "VSVerticesIn": "invocations.vs",
    "VsGsVerticesIn": "invocations.vs",
    "PSPixelsOut": "pixels.written",
    "PSExportStalls": "pixels.export_stalled",
    "DepthStencilTestBusy": "zrop.busy",
    "TexUnitBusy": "texture_pipe.busy",
    "WaveOccupancyPct": "sm.occupancy_elapsed",
    "VsGsPrimsIn": "prims.input",
    "CSThreads": "invocations.cs",
    "CSWavefronts": "waves.launched",
    "CSVALUBusy": "valu.busy",
    "CSVALUUtilization": "valu.utilization",
    "CSMemUnitBusy": "mem_unit.busy",
    "CSMemUnitStalled": "mem_unit.stalled",
    "CSWriteUnitStalled": "mem_unit.write_stalled",
    "CSALUStalledByLDS": "lds.alu_stalled",
    "InstCacheHit": "l1i.hit_rate",
    "VsGsBusy": "stage.vertex_busy",
    "PSBusy": "stage.pixel_busy",
    "CSBusy": "stage.compute_busy",
    "PrimitiveAssemblyBusy": "stage.primitive_busy",
    "PAStalledOnRasterizer": "raster.stalled",
    "ClippedPrims": "prims.clipped",
    "HiZTilesAccepted": "hiz.tiles_accepted",
    "HiZQuadsCulled": "hiz.quads_culled",
    "PreZQuadsCulled": "prez.quads_culled",
    "PostZQuads": "postz.quads",
    "ZUnitStalled": "zrop.stalled",
    "DBMemRead": "zrop.bytes_read",
    "DBMemWritten": "zrop.bytes_written",
    "CBMemRead": "crop.bytes_read",
    "CBColorAndMaskRead": "crop.bytes_read",
    "CBMemWritten": "crop.bytes_written",
    "CBColorAndMaskWritten": "crop.bytes_written",
    "CBSlowPixelPct": "crop.slow_pixels",
    "TexTriFilteringPct": "texture.trilinear",
    "TexVolFilteringPct": "texture.volume",
    "TexAveAnisotropy": "texture.anisotropy",
    "ScalarCacheHit": "sl1d.hit_rate",
    "L1CacheHit": "gl1.hit_rate",
    "LocalVidMemBytes": "vram.local_bytes",
    "PcieBytes": "pcie.bytes",
}
# any two of these tell AMD's plug-in; one alone might be anybody's
_MARKS = frozenset(("GPUTime", "ExecutionDuration", "GPUBusy", "PSBusy", "CSBusy", "VALUBusy", "TexUnitBusy"))


def tell(names: Iterable[str]) -> bool:
    """True for column names, without units, of a table with counters of this library."""
    return len(_MARKS.intersection(names)) >= 2


def unit_of(metric: str) -> str:
    """The unit in which the library prints a metric without saying so, "" for counts."""
    return {"ratio": "%", "byte": "B"}.get(schema.get(metric).unit, "")
