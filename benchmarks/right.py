"""Is what the benchmark times the right answer? `python benchmarks/right.py TABLE` says so, or fails where it is not."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TRIAGE = str(Path(sys.executable).with_name("triage"))


def thousand(path: Path) -> list[str]:
    """The timed command of the large tables."""
    return [TRIAGE, "diagnose", str(path), "-f", "json", "--top", "1000"]


def answer(command: list[str]) -> dict[str, Any]:
    """The JSON that the timed command prints."""
    result: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result


def right(path: Path, sample: int = 10_000) -> None:
    """The timed answer against pandas (every cell that was read) and a plain evaluation (every rule, `sample` workloads)."""
    import numpy as np
    import pandas as pd

    sys.path.insert(0, str(HERE.parent))
    from tests.inference.test_engine import plain
    from triage.derive import View
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.inference.evaluate import infer
    from triage.reading import reader
    from triage.rulebook.packs import load, select

    got, capture, table = answer(thousand(path)), reader.read(str(path)), pd.read_csv(path)
    assert got["frame"]["workloads"] == len(table) and capture.names.tolist() == table["name"].tolist(), "workloads"
    for metric, values in capture.facts.items():
        header = next(h for h in table.columns if h.partition(" ")[0] == metric)
        factor = 1e6 if metric == "gpu.time" else 0.01
        np.testing.assert_allclose(values, table[header].to_numpy() * factor, rtol=1e-12)
    doctor = Diagnoser(select(load()))
    rows = np.sort(np.random.default_rng(5).permutation(len(table))[:sample])
    view = View(capture, rows)
    truth = infer(view, doctor.workload)
    fired, possible = plain(view, doctor.book, "v2", "workload")
    for index, cannot in truth.possible.items():
        rule = doctor.book.rules[index]
        vetoed = np.logical_or.reduce([np.zeros(view.size, bool), *(hit for _, hit in truth.overruled.get(index, ()))])
        assert np.array_equal(truth.fired[index] | vetoed, fired[rule.name]), rule.name
        assert np.array_equal(cannot, possible[rule.name]), rule.name
    listed = [(f["name"], int(f["workload"][1:]) - 1) for f in got["findings"] if f["workload"] != "frame"]
    view = View(capture, np.array(sorted({w for _, w in listed})))
    fired, _ = plain(view, doctor.book, "v2", "workload")
    place = {int(w): i for i, w in enumerate(view.rows)}
    assert all(fired[name][place[w]] for name, w in listed), "a listed finding that plain evaluation does not confirm"
    # those of the items stand first, in the items' order; each group and the rest by what they save
    rest = [(f["cause"], f["gain"]["saved_ns"] or 0) for f in got["findings"] if f["gain"]]
    for item in got["todo"]:
        group = list(itertools.takewhile(lambda f, cause=item["cause"]: f[0] == cause, rest))
        assert group == sorted(group, key=lambda f: -f[1]), f"order of {item['cause']}"
        rest = rest[len(group) :]
    assert [saved for _, saved in rest] == sorted((saved for _, saved in rest), reverse=True), "order"


if __name__ == "__main__":
    right(Path(sys.argv[1]))
