"""The main verb from outside: bad input, missing metrics, same bytes, times that add up."""

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT, SAMPLES, bare_capture, diagnose, generic, run
from triage.derive import View
from triage.diagnosis.limiter import judge
from triage.ground.limiters import LIMITERS

pytestmark = pytest.mark.slow

ROW = {"kind": "fullscreen", "gpu.time": 1.0, "sm.throughput": 40.7, "l1tex.throughput": 39.8, "l2.throughput": 36.3, "crop.throughput": 26.4,
       "vram.throughput": 25.7, "gpu.idle": 0.2, "sm.active": 94.9, "sm.throughput_active": 43.0, "l1tex.hit_rate": 80.1, "l2.hit_rate": 83.0,
       "stall.long_scoreboard": 65.7, "sm.occupancy": 57.8}  # fmt: skip


def rows(n: int, seed: int = 0) -> list[dict[str, Any]]:
    r = random.Random(seed)
    return [
        {
            "name": f"Pass{i}",
            **{k: v if isinstance(v, str) else round(v * r.uniform(0.6, 1.2), 3) for k, v in ROW.items()},
        }
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("empty.csv", b"", "empty"), ("blank.csv", b"\n\n  \n", "empty"), ("picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(200), "PNG picture"),
        ("binary.csv", bytes(range(256)) * 20, "binary"), ("header.csv", b"name,gpu.time [ms],sm.throughput [%]\n", "header without rows"),
        ("half.csv", b"name,gpu.time [ms],sm.throughput [%]\nfoo", "1 cell, header has 3"), ("prose.csv", b"Dear all, please find attached\nthe numbers", "unknown format"),
        ("unknown.csv", b"alpha,beta\n1,2\n", "unknown format"), ("unit.csv", b"name,gpu.time [furlong],sm.throughput [%]\nA,1,2\n", "furlong"),
        ("wrong-unit.csv", b"name,gpu.time [byte],sm.throughput [%]\nA,1,2\n", "gpu.time [byte]"),
        ("damaged.csv.gz", b"\x1f\x8b\x08\x00broken", "gz"), ("zip.csv", b"PK\x03\x04" + bytes(50), "ZIP"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    p = run("diagnose", path)
    assert p.returncode == 2
    assert p.stdout == ""
    assert len(p.stderr.strip().splitlines()) == 1
    assert says in p.stderr
    assert name in p.stderr


def test_missing_file_and_unknown_names(tmp_path: Path) -> None:
    sample = generic(tmp_path / "a.csv", rows(2))
    for args in (["nowhere.csv"], [sample, "--dialect", "nope"], [sample, "-f", "nope"], [sample, "--device", "nope"], [sample, "--marker", "nope"],
                 [sample, "--map", "x"], [sample, "--map", "x=nope"], [sample, "--min-gain", "lots"]):  # fmt: skip
        p = run("diagnose", *args)
        assert p.returncode == 2, args
        assert len(p.stderr.strip().splitlines()) == 1, p.stderr


def test_a_bad_file_does_not_cost_the_others(tmp_path: Path) -> None:
    good = generic(tmp_path / "a.csv", rows(2))
    p = run("diagnose", tmp_path / "missing.csv", good, "-f", "json")
    assert p.returncode == 2
    assert len(json.loads(p.stdout)["workloads"]) == 2


def test_gz_and_stdin_read_like_the_file(tmp_path: Path) -> None:
    plain = generic(tmp_path / "a.csv", rows(3))
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    want = diagnose(plain)
    got = diagnose(packed)
    piped = json.loads(run("diagnose", "-", "-f", "json", input=plain.read_text()).stdout)
    for other in (got, piped):
        assert [w["sol"] for w in other["workloads"]] == [w["sol"] for w in want["workloads"]]
        assert [f["fingerprint"] for f in other["findings"]] == [f["fingerprint"] for f in want["findings"]]


def test_gz_bomb_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"name,gpu.time [ms],sm.throughput [%]\n" + b"A,1,2\n" * 20_000_000, 9))
    p = run("diagnose", bomb, "-f", "json")
    assert p.returncode == 2
    assert "--max-unpacked" in p.stderr


def test_removing_a_column_never_makes_a_rule_silent(tmp_path: Path) -> None:
    """Missing is not zero: a rule that fired can turn blind, never silent; a silent one can never start to fire."""
    full = [{"name": "FinalPass", **ROW}]
    before = diagnose(generic(tmp_path / "full.csv", full))
    fired = {f["rule"] for f in before["findings"]}
    assert len(before["ruled_out"]) == len({tuple(r.values()) for r in before["ruled_out"]})
    overruled = {r["rule"] for r in before["ruled_out"]}
    for column in [k for k in ROW if k not in ("kind", "gpu.time")]:
        cut = [{k: v for k, v in full[0].items() if k != column}]
        after = diagnose(generic(tmp_path / "cut.csv", cut))
        still = {f["rule"] for f in after["findings"]}
        blind = {r for s in after["blind_spots"] for r in s["rules"]}
        # a unit that is gone may change which unit is top: rules about other units are judged on the units that are left
        if not column.endswith(".throughput"):
            gone = fired - still
            assert gone <= blind, f"without {column}: {sorted(gone - blind)} neither fire nor are blind"
            assert still - fired <= overruled, f"without {column}: {sorted(still - fired)} fire anew"


FORMATS = ("json", "csv", "junit", "markdown", "jira", "html", "terminal")
WRITE_ALL = (
    "import sys, triage; d = triage.diagnose(sys.argv[1]); [d.save(f'{sys.argv[2]}.{f}', f) for f in sys.argv[3:]]"
)


def test_same_input_same_bytes(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", rows(12))
    for seed in ("1", "2"):
        command = [sys.executable, "-c", WRITE_ALL, path, tmp_path / seed, *FORMATS]
        subprocess.run(command, check=True, timeout=300, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed})
    for form in FORMATS:
        one, two = ((tmp_path / f"{seed}.{form}").read_bytes() for seed in ("1", "2"))
        assert one == two, form
        assert one


def test_both_engines_give_the_same_bytes(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", rows(40))
    assert (
        run("diagnose", path, "-f", "json", "--engine", "durable").stdout
        == run("diagnose", path, "-f", "json", "--engine", "clips").stdout
    )


def test_ranking_is_total_and_gains_never_add(tmp_path: Path) -> None:
    result = diagnose(generic(tmp_path / "a.csv", rows(30)))
    # first the findings of the to-do list, item by item, then the others by what they save
    first = [(i["cause"], w) for i in result["todo"] for w in i["workloads"]]
    assert [(f["cause"], f["workload"]) for f in result["findings"][: len(first)]] == first
    keys = [-(f["gain"]["saved_ns"] if f["gain"] else 0) for f in result["findings"][len(first) :]]
    assert keys == sorted(keys)
    assert [f["rank"] for f in result["findings"]] == list(range(1, len(result["findings"]) + 1))
    assert result["frame"]["recoverable_ns"] <= result["frame"]["duration_ns"]
    assert result["frame"]["recoverable_ns"] == pytest.approx(sum(i["saved_ns"] for i in result["todo"]), rel=1e-3)
    best: dict[str, float] = {}
    for f in result["findings"]:
        if f["gain"]:
            best[f["workload"]] = max(best.get(f["workload"], 0), f["gain"]["saved_ns"])
    local = [i for i in result["todo"] if i["scope"] == "workloads"]
    best.pop("frame", None)
    assert sum(i["saved_ns"] for i in local) <= sum(best.values()) * 1.001, "alternatives on one workload never add"


def test_every_evidence_value_is_in_the_file(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", rows(10))
    lines = path.read_text().splitlines()

    def cells(source: dict[str, Any]) -> list[dict[str, Any]]:
        return [source] if "text" in source else [c for i in source["inputs"] for c in cells(i["source"])]

    seen = 0
    for f in diagnose(path)["findings"]:
        for e in f["evidence"]:
            for cell in cells(e["source"]):
                assert cell["text"] in lines[cell["line"] - 1].split(",")
                assert cell["column"] in lines[0]
                seen += 1
    assert seen > 20


def test_fingerprints_do_not_depend_on_numbers(tmp_path: Path) -> None:
    a = diagnose(generic(tmp_path / "a.csv", rows(10)))
    noisy = [{k: v if isinstance(v, str) else round(v * 1.01, 4) for k, v in r.items()} for r in rows(10)]
    b = diagnose(generic(tmp_path / "b.csv", noisy))
    x, y = ({f["fingerprint"] for f in d["findings"]} for d in (a, b))
    assert len(x & y) > 0.9 * len(x | y)


def test_top_keeps_the_best_and_counts_the_rest(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", rows(30))
    everything, some = diagnose(path), diagnose(path, "--top", 5)
    assert [f["fingerprint"] for f in some["findings"]] == [
        f["fingerprint"] for f in everything["findings"][: len(some["findings"])]
    ]
    assert [i["fingerprint"] for i in some["todo"]] == [i["fingerprint"] for i in everything["todo"][:5]]
    assert {w["id"] for w in some["workloads"]} == {f["workload"] for f in some["findings"]} - {"frame"}
    assert some["frame"]["findings_total"] == len(everything["findings"])


def test_fail_on_sets_the_exit_code(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", rows(3))
    assert run("diagnose", path, "-f", "json", "--fail-on", "low").returncode == 1
    assert run("diagnose", path, "-f", "json").returncode == 0


def test_output_file_is_whole_or_absent(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", rows(3))
    out = tmp_path / "deep" / "r.json"
    assert run("diagnose", path, "-f", "json", "-o", out, cwd=tmp_path).returncode == 0
    assert json.loads(out.read_text())["schema"] == "triage/1"
    assert [p.name for p in out.parent.iterdir()] == ["r.json"]
    blocked = tmp_path / "a.csv" / "x.json"
    p = run("diagnose", path, "-f", "json", "-o", blocked)
    assert p.returncode == 2
    assert len(p.stderr.strip().splitlines()) == 1


def test_samples_are_there() -> None:
    assert any(SAMPLES.iterdir())


@pytest.mark.parametrize(
    ("facts", "limiter"),
    [
        ({"alu.utilization": 0.93, "texture_pipe.busy": 0.3}, "compute"),
        ({"alu.utilization": 0.41, "texture_pipe.busy": 0.91}, "memory"),
        ({"texture_pipe.busy": 0.93}, "memory"),
        ({"alu.limiter": 0.9}, "compute"),
        ({"alu.limiter": 0.9, "buffer_read.limiter": 0.88}, "balanced"),
        ({"vram.stalled": 0.7, "alu.utilization": 0.2}, "memory"),
        # the units of a tiler take turns: low ones are no proof of waiting
        ({"alu.utilization": 0.38, "texture_pipe.busy": 0.2}, "unknown"),
        # a share of peak says more
        ({"sm.throughput": 0.3, "vram.throughput": 0.8, "alu.utilization": 0.95}, "memory"),
    ],
)
def test_units_of_a_phone_give_a_limiter(facts: dict[str, float], limiter: str) -> None:
    capture = bare_capture({m: np.array([v]) for m, v in facts.items()}, np.array(["w"], dtype=object))
    assert LIMITERS[int(judge(View(capture)).limiter[0])].id == limiter


def test_work_that_is_absent_is_no_evidence_and_excludes_nothing() -> None:
    doc = diagnose(SAMPLES / "gpu-trace" / "demo_frame")
    assert not [
        r["why"] for r in doc["ruled_out"] if "Dispatches 0, " in r["why"] or "Primitives counted 0, " in r["why"]
    ]
    # dispatches that are there, and too few, still exclude
    assert any("Dispatches 1, below 4" in r["why"] for r in doc["ruled_out"])
    told = [c for f in doc["findings"] for c in f["evidence"] if len(f["evidence"]) > 1]
    assert not [c for c in told if c["metric"].lower() in ("kernels", "work.kernels") and c["value"] == 0]


def test_a_game_stands_before_the_launcher_that_presents_more_often(tmp_path: Path) -> None:
    head = "Application,ProcessID,SwapChainAddress,FrameTime,CPUBusy,CPUWait,GPULatency,GPUTime,GPUBusy,GPUWait"
    launcher = [f"launcher.exe,8,0x2,16.{k},2.1,14,0.4,0.9,0.9,0" for k in range(30)]
    game = [f"game.exe,9,0x1,50.{k},7,43,2,49,48.{k},0.1" for k in range(10)]
    path = tmp_path / "frames.csv"
    path.write_text("\n".join([head, *launcher, *game]) + "\n")
    doc = diagnose(path)
    assert doc["workloads"][0]["name"] == "game.exe"
    assert [f["workload"] for f in doc["findings"]] == ["w1"]  # what runs beside the game is background
    # the launcher's GPU time is not the game's frame
    assert doc["frame"]["duration_ns"] == pytest.approx(490e6)
    # whatever is cut away, what comes first is the same
    assert diagnose(path, "--top", 1)["findings"][0]["rule"] == doc["findings"][0]["rule"]
