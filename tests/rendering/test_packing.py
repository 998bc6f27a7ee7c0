"""Packed data of a page comes back as it was, in Python and in the page's script."""

import json
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from triage.rendering.html import packing

N = packing.MIN_PACKED
COLUMNS = {
    "short": np.arange(N - 1),
    "bytes": np.arange(N) % 7,
    "equal": np.full(N, -3),
    "signed": np.arange(N) * 1000 - 1,
    "whole range": np.array([-(2**31), *range(N), 2**31 - 1]),
    "longer": np.arange(N) * 2**32,
    "fractions": np.arange(N) / 4,
}
DATA: dict[str, Any] = {
    **COLUMNS,
    "n": np.int64(4),
    "names": ["a", "\u6f22"],
    "nested": [[np.arange(N), 0], [np.ones(N, int), 1]],
}


def plain(found: Any) -> Any:
    return json.loads(json.dumps(found, default=lambda a: a.tolist()))


@pytest.mark.parametrize("more", [{}, {"surrogate": "\ud800"}])
def test_python_reads_what_it_packed(more: dict[str, str]) -> None:
    found = packing.read(packing.blob({**DATA, **more}))
    assert isinstance(found, dict)
    assert {k: v for k, v in found.items() if k != "surrogate"} == plain(DATA)


def test_the_page_reads_what_was_packed() -> None:
    if not (node := shutil.which("node")):
        pytest.skip("node is not installed")
    script = (ROOT / "reports" / "_parts" / "part.js.j2").read_text("utf-8")
    page = f"const $ = () => ({{ textContent: {json.dumps(packing.blob(DATA))} }});"
    message = "part('x').then((d) => console.log(JSON.stringify(d, (k, v) => v instanceof Int32Array ? [...v] : v)));"
    done = subprocess.run(
        [node, "-e", page + script + message], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert json.loads(done.stdout) == plain(DATA)
