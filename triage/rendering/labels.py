"""Table heads, tile labels and line labels, each spelled once for every report (labels.toml beside this file).

Python reads `HEADS.self_time`, templates `heads.self_time`, the page's script `C.heads.self_time`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace

AS_DATA: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
HEADS = SimpleNamespace(**AS_DATA)
