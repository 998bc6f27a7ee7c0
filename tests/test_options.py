"""Options: what is typed becomes one Settings, mistakes are one line, a shell is offered what there is."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from tests.conftest import ROOT, SAMPLES, run
from triage.commands import _common, _types
from triage.commands.cli import triage
from triage.ground.errors import TriageError
from triage.products.settings import Settings

SAMPLE = SAMPLES / "generic" / "p3_workloads_v2.csv"


def settings(*args: object, verb: Callable[..., object] | None = None) -> Settings:
    """What a verb with every shared option gets."""
    got: list[Settings] = []

    @click.command()
    @click.option("--min-gain", type=_types.Share(), default=0.0)
    @_common.settings(_common.reading, _common.knowledge)
    def command(settings: Settings) -> None:
        got.append(settings)

    done = CliRunner().invoke(command, [str(a) for a in args], standalone_mode=False)
    if done.exception:
        raise done.exception
    return got[0]


def test_without_options_settings_are_the_default() -> None:
    assert settings() == Settings()


def test_every_option_reaches_the_settings(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("Theirs: sm.throughput\nOther: l2.throughput\n")
    said = settings(
        *("--dialect", "generic", "--device", "sm_86", "--marker", "Frame*", "--unfold", "--decimal", "comma"),
        *("--map", "a=b=vram.throughput", "--map", "Other=gpu.time", "--map-file", tmp_path / "map.yaml"),
        *("--events", "e.txt", "--max-unpacked", "1.5G", "--method", "v1", "--engine", "clips", "--experimental"),
        *("--select", "P3001, mem", "--select", "mem,gpu", "--ignore", "amd", "--set", "x.y=1", "--rules", tmp_path),
        *("--min-gain", "2%"),
    )
    assert said == Settings(
        dialect="generic",
        device="sm_86",
        marker="Frame*",
        unfold=True,
        mapping=(("Theirs", "sm.throughput"), ("Other", "gpu.time"), ("a=b", "vram.throughput")),
        events="e.txt",
        decimal="comma",
        max_unpacked=3 << 29,
        method="v1",
        engine="clips",
        rules=(str(tmp_path),),
        select=("P3001", "mem", "gpu"),
        ignore=("amd",),
        sets=("x.y=1",),
        experimental=True,
        min_gain=0.02,
    )
    assert hash(said) == hash(pickle.loads(pickle.dumps(said)))
    assert dataclasses.replace(said, max_unpacked=None).most_unpacked == 8 << 30


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["diagnose", SAMPLE, "--min-gain", "x"], "'x' is no percentage - write 2%"),
        (["diagnose", SAMPLE, "--min-gain", "101"], "'101' is no percentage - write 2%"),
        (["diagnose", SAMPLE, "--max-unpacked", "2X"], "'2X' is no size - write 500M or 2G"),
        (["facts", SAMPLE, "--map", "sm"], "--map 'sm' is not COLUMN=METRIC - write --map \"Their Column=sm.throughput\""),
        (["facts", SAMPLE, "--map", "A=sm.thruput"], "column 'A': 'sm.thruput' is no metric - did you mean 'sm.throughput'?"),
        (["facts", SAMPLE, "--map", "A=?"], "column 'A': '?' is no metric - see: triage list metrics"),
        (["diagnose", SAMPLE, "-f", "x.j2"], "x.j2: no such template - give a path to a .j2 file"),
        (["compare", SAMPLE, SAMPLE, "--noise", "-1"], "'-1' is no percentage - write 2%"),
        (["compare", SAMPLE, SAMPLE, "--fail-on-regression", ""], "'' is no percentage - write 2%"),
        (["tickets", SAMPLE, "-o", "nowhere", "--min-saving", "1 ms"], "'1 ms' is no percentage - write 2%"),
        (["occupancy", "--arch", "sm_86", "--threads", "1x", "--regs", 4], "--threads '1x': expected N, XxY or XxYxZ with whole numbers of at least 1"),
        (["occupancy", "--arch", "sm_86", "--threads", 32, "--regs", 4, "--shared", "1T"], "--shared '1T': expected bytes, as in 32768 or 32K"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(args: list[object], line: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"triage: {line}\n")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (_types.Share(), "2%", 0.02), (_types.Share(), "0.02", 0.02), (_types.Share(), " 50 % ", 0.5), (_types.Share(), "100", 1.0),
        (_types.Size(), "", None), (_types.Size(), "0", 0), (_types.Size(), "1k", 1024), (_types.Size(), "2 GiB", 2 << 30),
        (_types.Memory(), "32K", 32768), (_types.Memory(), "48 KiB", 49152), (_types.Memory(), "1MB", 1 << 20),
        (_types.Extent(), "16x8", (16, 8, 1)), (_types.TokenList(), " a ,,b", ("a", "b")), (_types.TokenList(), "", ()),
        (_types.Mapped(), "My = column = gpu.time", ("My = column", "gpu.time")), (_types.MapFile(), "", ()),
        (_types.Reports(), "json,html", ("json", "html")),
    ],
)  # fmt: skip
def test_what_is_parsed(kind: _types.Text, text: str, value: object) -> None:
    assert kind.convert(text, None, None) == value
    assert kind.convert(value, None, None) == value


def test_a_mapping_file_with_a_wrong_metric_says_which(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("Theirs: sm.thruput\n")
    with pytest.raises(TriageError, match=r"column 'Theirs': 'sm.thruput' is no metric - did you mean"):
        settings("--map-file", tmp_path / "map.yaml")


def offered(*words: str) -> list[str]:
    """What a shell offers for the last word."""
    complete = BashComplete(triage, {}, "triage", "_TRIAGE_COMPLETE")
    return [str(item.value) for item in complete.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("diagnose", "--dialect", "ncu-r"), {"ncu-raw", "ncu-rep"}),
        (("diagnose", "--device", "SM_8"), {"sm_80", "sm_86"}),
        (("diagnose", "-f", "m"), {"markdown"}),
        (("batch", "-f", "html,j"), {"html,json", "html,jira", "html,junit"}),
        (("facts", "--map", "Col=sm.thr"), {"Col=sm.throughput"}),
        (("diagnose", "--select", "p3"), {"p3"}),
        (("compare", "a", "b", "--ignore", "p3,AMD0"), {"p3,AMD010"}),
        (("explain", "sm.thr"), {"sm.throughput"}),
        (("occupancy", "--arch", "gfx90"), {"gfx906", "gfx90a"}),
    ],
)
def test_a_shell_is_offered_what_there_is(words: tuple[str, ...], some: set[str]) -> None:
    found = offered(*words)
    assert some <= set(found)
    assert all(v.lower().startswith(words[-1].lower()) for v in found)


def test_a_shell_is_offered_thresholds_and_nothing_for_what_is_free() -> None:
    assert any(
        v.startswith("busy-top-unit.") and v.endswith("=") for v in offered("diagnose", "--set", "busy-top-unit")
    )
    assert offered("facts", "--map", "Col") == []
    assert offered("diagnose", "--rules", "/nowhere", "--select", "p") == []


def test_completion_from_a_shell() -> None:
    code = "import sys; sys.argv = ['triage']; from triage.commands.cli import main; main()"
    env = {**os.environ, "_TRIAGE_COMPLETE": "bash_complete", "COMP_WORDS": "triage list rul", "COMP_CWORD": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("plain,rules\n", "")


def test_verbs_import_nothing_to_complete() -> None:
    code = "import triage.commands.diagnose, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not {"pandas", "numpy", "jinja2", "triage.schema", "triage.dialects", "platformdirs"} & set(loaded.split())
