"""The frame's arithmetic: exclusive times add up, nothing is counted twice, repeats fold and unfold."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import CORPUS, diagnosis, doctor, needs_corpus
from triage.capture.capture import SEP
from triage.findings import assembling
from triage.reading import marker_tree, reader

REAL = [
    CORPUS / "nsight_graphics" / "scan-tile-throughput" / "BASE",
    CORPUS / "nsight_graphics" / "scan-rts-shader-profiler" / "BASE",
    CORPUS / "nsight_graphics" / "xorshift-subset" / "64-GPUTRACE_REGIMES.xls.tsv",
    CORPUS / "renderdoc" / "unity-frame" / "example-counters.csv",
]


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[str], list[str], np.ndarray, list[int]]:
    """(names, paths, inclusive times, parents) of a frame in which parents last at least as long as their children."""
    n = draw(st.integers(1, 40))
    parents = [-1] + [draw(st.integers(-1, i - 1)) for i in range(1, n)]
    own = np.array(draw(st.lists(st.floats(0, 1e7), min_size=n, max_size=n)))
    inclusive = own.copy()
    for i in range(n - 1, -1, -1):
        if parents[i] >= 0:
            inclusive[parents[i]] += inclusive[i]
    names = [f"m{i}" for i in range(n)]
    full: list[str] = []
    for i, p in enumerate(parents):
        full.append(names[i] if p < 0 else f"{full[p]}{SEP}{names[i]}")
    return names, [f.rpartition(SEP)[0] for f in full], inclusive, parents


@given(trees())
@settings(max_examples=150, deadline=None)
def test_exclusive_times_add_up_to_the_roots(
    tree: tuple[list[str], list[str], np.ndarray, list[int]],
) -> None:
    names, paths, inclusive, parents = tree
    parent, depth, _ = marker_tree.tree(np.array(names, object), np.array(paths, object))
    assert parent.tolist() == parents
    total, own = marker_tree.exclusive(inclusive, parent, depth, False)
    roots = sum(inclusive[i] for i in range(len(names)) if parents[i] < 0)
    assert np.nansum(own) == pytest.approx(roots, rel=1e-9, abs=1e-3)
    assert (np.nan_to_num(own) <= np.nan_to_num(total) + 1e-6).all()


@given(trees())
@settings(max_examples=60, deadline=None)
def test_leaf_times_are_summed_into_their_parents(
    tree: tuple[list[str], list[str], np.ndarray, list[int]],
) -> None:
    names, paths, times, parents = tree
    parent, depth, _ = marker_tree.tree(np.array(names, object), np.array(paths, object))
    total, own = marker_tree.exclusive(times, parent, depth, True)
    assert np.nansum(own) == pytest.approx(times.sum())
    roots = [i for i in range(len(names)) if parents[i] < 0]
    assert np.nansum(total[roots]) == pytest.approx(times.sum(), rel=1e-9, abs=1e-3)


@pytest.mark.slow
@given(trees(), st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_recoverable_time_never_exceeds_the_frame(
    tmp_path_factory: pytest.TempPathFactory,
    tree: tuple[list[str], list[str], np.ndarray, list[int]],
    seed: int,
) -> None:
    path = tmp_path_factory.mktemp("frame") / "frame.csv"
    write(path, *tree[:3], np.random.default_rng(seed))
    d = diagnosis(path)
    low, likely, bound = d.recoverable_ns
    assert 0 <= low <= likely <= bound <= d.frame_ns * (1 + 1e-9)
    f = assembling.bundle(d, ways=False).frame
    assert sum(s["self_ns"] for s in f["limiters"]) + f["uncovered_ns"] == pytest.approx(d.frame_ns, rel=1e-6, abs=1)


def write(path: Path, names: list[str], paths: list[str], times: np.ndarray, rng: np.random.Generator) -> None:
    """A generic export of a marker tree with random SOL figures; times in ns."""
    lines = [
        "path,name,kind,gpu.time [ns],sm.throughput [%],l1tex.throughput [%],vram.throughput [%],l2.throughput [%],crop.throughput [%]"
    ]
    for name, levels, t in zip(names, paths, times, strict=True):
        sol = ",".join(f"{v:.2f}" for v in rng.uniform(1, 99, 5))
        lines.append(f"{levels.replace(SEP, '/')},{name},fullscreen,{t + 1:.3f},{sol}")
    path.write_text("\n".join(lines) + "\n")


def test_five_thousand_nested_markers(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    parents = [-1] + [int(rng.integers(max(0, i - 60), i)) for i in range(1, 5000)]
    inclusive = rng.uniform(1e3, 1e5, 5000)
    for i in range(4999, 0, -1):
        inclusive[parents[i]] += inclusive[i]
    names = [f"m{i}" for i in range(5000)]
    full: list[str] = []
    for i, p in enumerate(parents):
        full.append(names[i] if p < 0 else f"{full[p]}{SEP}{names[i]}")
    path = tmp_path / "deep.csv"
    write(path, names, [f.rpartition(SEP)[0] for f in full], inclusive - 1, rng)
    capture = reader.read(str(path))
    assert capture.depth.max() > 50
    assert capture.self_ns.sum() == pytest.approx(inclusive[0], rel=1e-9)
    d = doctor().diagnose([capture])
    assert d.frame_ns == pytest.approx(inclusive[0], rel=1e-9)
    assert d.recoverable_ns[2] <= d.frame_ns


@needs_corpus
@pytest.mark.parametrize("export", REAL, ids=lambda p: p.parent.name if p.name == "BASE" else p.name)
def test_real_frames_add_up(export: Path) -> None:
    capture = reader.read(str(export))
    roots = capture.parent < 0
    assert np.nansum(capture.self_ns) + capture.uncovered_ns == pytest.approx(capture.frame_ns, rel=1e-9)
    assert np.nansum(capture.self_ns) >= np.nansum(capture.duration_ns[roots]) * (1 - 1e-9)
    d = doctor().diagnose([capture])
    assert d.recoverable_ns[2] <= d.frame_ns * (1 + 1e-9)


REPEATS = """path,name,gpu.time [us],sm.throughput [%]
,Frame,100,50
Frame,Pass,30,50
Frame/Pass,Draw,10,50
Frame/Pass,Draw,15,50
Frame,Pass,50,50
Frame/Pass,Draw,45,50
"""


def test_repeats_fold_into_one_workload_with_their_spread(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(REPEATS)
    found = {w["name"]: w for w in diagnosis(path).to_dict()["workloads"]}
    assert found["Draw"]["calls"] == 3
    assert found["Draw"]["times"] == {"min": 10_000, "median": 15_000, "max": 45_000}
    assert found["Draw"]["duration_ns"] == 70_000
    assert found["Frame"]["times"] is None
    assert found["Frame"]["self_ns"] == 20_000
    assert found["Pass"]["self_ns"] == 10_000


def test_unfolded_repeats_keep_their_own_children(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(REPEATS)
    capture = reader.read(str(path), unfold=True)
    assert capture.parent.tolist() == [-1, 0, 1, 1, 0, 4]
    assert capture.self_ns.tolist() == [20_000, 5_000, 10_000, 15_000, 5_000, 45_000]


def test_children_listed_before_their_parent_find_the_next_one() -> None:
    names = np.array(["Draw", "Pass", "Draw", "Pass"], object)
    parent, _, _ = marker_tree.tree(names, np.array(["Pass", "", "Pass", ""], object))
    assert parent.tolist() == [1, -1, 3, -1]


def test_a_child_longer_than_its_parent_makes_no_negative_time() -> None:
    parent, depth = np.array([-1, 0]), np.array([0, 1])
    _, own = marker_tree.exclusive(np.array([10.0, 12.0]), parent, depth, False)
    assert own.tolist() == [0.0, 12.0]
