"""Bytes of a pixel by the names of its formats, as APIs and engines write them: `R11G11B10F`, `RGBA16F`, `D24S8`."""

from __future__ import annotations

import re
from functools import lru_cache

# components and their bits, one or several groups: RGBA8, R10G10B10A2, RGB10A2, D32FS8X24
_FORMAT_RE = re.compile(r"(?<![A-Za-z0-9])((?:(?:RGBA|BGRA|ARGB|RGB|BGR|RG|[RGBADSX])\d{1,2}F?){1,5})(?:_?(?:U?NORM|S?FLOAT|UINT|SINT|SRGB|UFLOAT|TYPELESS))*(?![A-Za-z0-9])(?: ?[x×] ?(\d))?")  # fmt: skip
_GROUP_RE = re.compile(r"([RGBADSX]+)(\d{1,2})F?")
_WHOLE = frozenset((8, 16, 24, 32, 40, 48, 64, 96, 128))  # bits that formats have; D32S8 is 40
_LONGEST = 400  # characters of a name


@lru_cache(16_384)
def pixel_bytes(name: str) -> float | None:
    """Bytes per pixel of all formats that a name states, None where it states none: `GBuffer (RGBA8 x3 + D32)` is 16."""
    total = 0.0
    for written, times in _FORMAT_RE.findall(name[:_LONGEST]):
        bits = sum(len(parts) * int(size) for parts, size in _GROUP_RE.findall(written))
        if bits in _WHOLE and (len(written) > 2 or bits == 8):
            total += bits / 8 * (int(times) if times else 1)
    return total or None
