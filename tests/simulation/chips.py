"""The chips of the small machine: rates per SM and clock, bytes per second, latencies; rounded public figures."""

from msgspec import Struct


class Chip(Struct, frozen=True):
    """Rates are per SM and SM clock, in warp instructions where nothing else is said."""

    name: str
    cc: str
    sms: int
    ghz: float
    vram: float  # bytes per second
    l2: float  # bytes per SM clock, all slices together
    slices: int
    l2_mb: float
    warps: int = 48
    blocks: int = 16
    shared: int = 102_400
    l1_kb: int = 128
    fma: float = 4.0
    alu: float = 2.0
    fp64: float = 1 / 16
    mma: float = 0.25  # HMMA.16816
    wide_mma: float = 0.0  # WGMMA m64n256k16 or tcgen05 m128n256k16
    lsu: float = 0.5
    fill: float = 32.0  # bytes
    l2_ns: float = 150.0
    vram_ns: float = 300.0

    @property
    def generation(self) -> float:
        return float(self.cc)

    @property
    def split_fma(self) -> bool:
        """Are there a heavy and a light half of the FMA pipe (from 8.6 on), integers in the heavy one?"""
        return self.generation > 8.0


def _data(name: str, cc: str, sms: int, ghz: float, vram: float, l2: float, slices: int, l2_mb: float, mma: float, wide: float, ns: tuple[float, float]) -> Chip:  # fmt: skip
    old = cc == "8.0"
    return Chip(name, cc, sms, ghz, vram * 1e9, l2, slices, l2_mb, 64, 32, 167_936 if old else 233_472, 192 if old else 256,
                2.0 if old else 4.0, 2.0, 1.0 if old else 2.0, mma, wide, 1.0, 64.0, *ns)  # fmt: skip


def _card(name: str, cc: str, sms: int, ghz: float, vram: float, l2: float, slices: int, l2_mb: float, blocks: int, ns: tuple[float, float], shared: int = 102_400) -> Chip:  # fmt: skip
    return Chip(name, cc, sms, ghz, vram * 1e9, l2, slices, l2_mb, 48, blocks, shared, shared // 1024 + 28, l2_ns=ns[0], vram_ns=ns[1])  # fmt: skip


CHIPS = {
    "A100": _data("NVIDIA A100-SXM4-80GB", "8.0", 108, 1.095, 2039, 5120, 80, 40, 0.5, 0, (205, 360)),
    "A100-40": _data("NVIDIA A100-SXM4-40GB", "8.0", 108, 1.095, 1555, 5120, 80, 40, 0.5, 0, (205, 350)),
    "A10": _card("NVIDIA A10", "8.6", 72, 0.885, 600, 3072, 48, 6, 16, (190, 310)),
    "3090": _card("NVIDIA GeForce RTX 3090", "8.6", 82, 1.395, 936, 3072, 48, 6, 16, (160, 300)),
    "A6000": _card("NVIDIA RTX A6000", "8.6", 84, 1.41, 768, 3072, 48, 6, 16, (160, 300)),
    "L4": _card("NVIDIA L4", "8.9", 58, 0.795, 300, 1536, 24, 48, 24, (260, 330)),
    "L40S": _card("NVIDIA L40S", "8.9", 142, 1.11, 864, 3072, 48, 96, 24, (210, 320)),
    "4090": _card("NVIDIA GeForce RTX 4090", "8.9", 128, 2.235, 1008, 2304, 36, 72, 24, (130, 290)),
    "4060Ti": _card("NVIDIA GeForce RTX 4060 Ti", "8.9", 34, 2.31, 288, 1024, 16, 32, 24, (120, 280)),
    "H100": _data("NVIDIA H100 80GB HBM3", "9.0", 132, 1.5, 3352, 5632, 96, 50, 0.6, 1 / 128, (180, 400)),
    "H100-PCIe": _data("NVIDIA H100 PCIe", "9.0", 114, 1.095, 2039, 5632, 80, 50, 0.6, 1 / 128, (230, 400)),
    "H200": _data("NVIDIA H200", "9.0", 132, 1.5, 4800, 5632, 96, 50, 0.6, 1 / 128, (180, 420)),
    "B200": _data("NVIDIA B200", "10.0", 148, 1.6, 7700, 8192, 160, 126, 0.5, 1 / 128, (210, 560)),
    "5090": _card("NVIDIA GeForce RTX 5090", "12.0", 170, 2.0, 1792, 6144, 96, 96, 24, (140, 330)),
    "5070": _card("NVIDIA GeForce RTX 5070", "12.0", 48, 2.3, 672, 2304, 36, 48, 24, (130, 330)),
}
