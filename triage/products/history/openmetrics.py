"""A trend as OpenMetrics text (the exposition format of Prometheus, OpenMetrics 1.0): gauges with their time, for dashboards."""

from __future__ import annotations

from typing import TypeAlias

from triage.products.history.history_result import Line, Point

Sample: TypeAlias = tuple[Point, dict[str, str], float]  # a build, further labels, the value
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


def text(doc: Line) -> str:
    """Median, fastest and slowest run of each build in seconds, the runs counted, and the lasting changes."""
    what = "saving" if doc["of"] == "cause" else "time"
    same = {"scope": doc["scope"], "device": doc["device"], "of": doc["of"], "name": doc["what"] or "frame"}
    families: tuple[tuple[str, str, str, list[Sample]], ...] = (
        (f"triage_{what}_seconds", "seconds", f"GPU {what} of a build: median, fastest and slowest run", [
            (p, {"stat": stat}, ns / 1e9) for p in doc["points"] for stat, ns in (("median", p["ns"]), ("min", p["low"]), ("max", p["high"]))
        ]),
        ("triage_runs", "", "Runs of a build", [(p, {}, float(p["build"]["runs"])) for p in doc["points"]]),
    )  # fmt: skip
    out: list[str] = []
    for name, unit, words, samples in families:
        out += [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else []), f"# HELP {name} {words}."]
        for p, labels, value in samples:
            build = {"build": p["build"]["revision"], "branch": p["build"]["branch"]}
            out.append(f"{name}{_labels(same | build | labels)} {value:.9g} {p['build']['at']}")
    out += [
        "# TYPE triage_change_ratio gauge",
        "# UNIT triage_change_ratio ratio",
        "# HELP triage_change_ratio Lasting change since a build.",
    ]
    for m in doc["moved"]:
        build = {"build": m["by"]["revision"], "branch": m["by"]["branch"], "cause": m["cause"] or ""}
        out.append(f"triage_change_ratio{_labels(same | build)} {m['change']:.6g} {m['by']['at']}")
    return "\n".join([*out, "# EOF", ""])


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{k}="{v.translate(_ESCAPES)}"' for k, v in labels.items()) + "}"
