"""Golden files: every sample in every format, byte for byte. `make golden` rewrites them; read the diff before committing."""

from __future__ import annotations

import pytest

from tests.regolden import FORMATS, GOLDEN, made, samples


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("sample", samples(), ids=lambda s: s[0])
def test_golden(sample: tuple[str, str], format: str) -> None:
    name, path = sample
    golden = GOLDEN / f"{name}.{format}"
    if not golden.exists():
        pytest.skip(f"no golden file yet: make golden writes {golden.name}")
    assert made(path, format).encode() == golden.read_bytes(), (
        f"{golden.name} differs; if that is meant: make golden, and read the diff"
    )


def test_golden_files_belong_to_samples() -> None:
    known = {f"{name}.{format}" for name, _ in samples() for format in FORMATS}
    kept = {p.name for p in GOLDEN.glob("*") if p.suffix[1:] in FORMATS}
    assert kept <= known, f"golden files without a sample: {sorted(kept - known)}"
