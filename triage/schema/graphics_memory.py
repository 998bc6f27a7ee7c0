"""Fixed-function units by bytes, tiles and stages, as AMD's GPUPerfAPI counts them (RenderDoc and PIX plug-ins).

Busy times are shares of the GPU's time in which a stage had work, waiting included: no share of a peak.
"""

from triage.schema._metric import Metric

METRICS = (
    Metric("stage.vertex_busy", "ratio", "Vertex stages busy", "", "Time in which vertex and geometry stages had work", ("VsGsBusy", "VSBusy")),
    Metric("stage.pixel_busy", "ratio", "Pixel stage busy", "", "Time in which the pixel stage had work", ("PSBusy",)),
    Metric("stage.compute_busy", "ratio", "Compute stage busy", "", "Time in which compute shaders had work", ("CSBusy",)),
    Metric("stage.primitive_busy", "ratio", "Primitive assembly busy", "", "Time in which primitive assembly had work", ("PrimitiveAssemblyBusy",)),
    Metric("raster.stalled", "ratio", "Primitives stalled on the rasteriser", "low", "Time in which primitive assembly waited for the rasteriser", ("PAStalledOnRasterizer",)),
    Metric("prims.clipped", "count", "Primitives clipped", "low", "Primitives that clipping cut", ("ClippedPrims",), additive=True),
    Metric("hiz.tiles_accepted", "ratio", "Hi-Z tiles accepted", "low", "Tiles that coarse depth culling let through", ("HiZTilesAccepted",)),
    Metric("hiz.quads_culled", "ratio", "Hi-Z quads culled", "high", "Quads that coarse depth culling threw away", ("HiZQuadsCulled",)),
    Metric("prez.quads_culled", "ratio", "Quads culled by early depth", "high", "Quads that the early depth test threw away", ("PreZQuadsCulled", "Early ZS killed quad percentage", "Early ZS killed quads percentage")),
    Metric("postz.quads", "ratio", "Quads tested after shading", "low", "Quads whose depth was tested after the pixel shader", ("PostZQuads", "Late ZS tested quad percentage", "Late ZS tested quads percentage")),
    Metric("zrop.stalled", "ratio", "Depth unit stalled", "low", "Time in which the depth unit waited for the colour unit", ("ZUnitStalled",)),
    Metric("zrop.bytes_read", "byte", "Depth bytes read", "low", "Bytes that depth and stencil tests read from memory", ("DBMemRead",), additive=True),
    Metric("zrop.bytes_written", "byte", "Depth bytes written", "low", "Bytes that depth and stencil writes sent to memory", ("DBMemWritten",), additive=True),
    Metric("crop.bytes_read", "byte", "Colour bytes read", "low", "Bytes that blending read from memory", ("CBMemRead", "CBColorAndMaskRead"), additive=True),
    Metric("crop.bytes_written", "byte", "Colour bytes written", "low", "Bytes that colour writes sent to memory", ("CBMemWritten", "CBColorAndMaskWritten"), additive=True),
    Metric("crop.slow_pixels", "ratio", "Half-rate pixels", "low", "Pixels written at half or quarter rate for their format or blending", ("CBSlowPixelPct",)),
    Metric("texture.trilinear", "ratio", "Trilinear fetches", "low", "Texels fetched with trilinear filtering", ("TexTriFilteringPct",)),
    Metric("texture.volume", "ratio", "Volume fetches", "low", "Texels fetched from volumes", ("TexVolFilteringPct",)),
    Metric("texture.anisotropy", "count", "Anisotropy", "low", "Average degree of anisotropic filtering", ("TexAveAnisotropy",), bounded=False),
    Metric("scalar_cache.hit_rate", "ratio", "Scalar cache hit rate", "high", "Hits in the scalar cache", ("ScalarCacheHit",)),
    Metric("gl1.hit_rate", "ratio", "GL1 hit rate", "high", "Hits in the L1 between L0 and L2 (RDNA)", ("L1CacheHit",)),
    Metric("vram.local_bytes", "byte", "Video memory bytes", "low", "Bytes moved in video memory", ("LocalVidMemBytes",), additive=True),
    Metric("pcie.bytes", "byte", "PCIe bytes", "low", "Bytes moved over PCI Express", ("PcieBytes",), additive=True),
)  # fmt: skip
