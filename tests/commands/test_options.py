"""Options: what is typed becomes one Settings, mistakes are one line, a shell is offered what there is."""

import ast
import builtins
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from tests.conftest import ROOT, SAMPLES, run
from triage.capture.compression import BYTES
from triage.commands import _common, _types
from triage.commands.cli import triage
from triage.products.batch.workers import LISTED
from triage.products.noise import FLOOR, MARGIN
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
    (tmp_path / "events.txt").write_text("")
    said = settings(
        *("--dialect", "generic", "--device", "sm_86", "--marker", "Frame*", "--unfold", "--decimal", "comma"),
        *("--map", "a=b=vram.throughput", "--map", "Other=gpu.time"),
        *(
            "--events",
            tmp_path / "events.txt",
            "--max-unpacked",
            "1.5G",
            "--method",
            "v1",
            "--engine",
            "clips",
            "--experimental",
        ),
        *("--select", "P3001, mem", "--select", "mem,gpu", "--ignore", "amd", "--set", "x.y=1", "--rules", tmp_path),
        *("--min-gain", "2%"),
    )
    assert said == Settings(
        dialect="generic",
        device="sm_86",
        marker="Frame*",
        unfold=True,
        mapping=(("a=b", "vram.throughput"), ("Other", "gpu.time")),
        events=str(tmp_path / "events.txt"),
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
    assert msgspec.structs.replace(said, max_unpacked=None).most_unpacked == 8 << 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["diagnose", SAMPLE, "--min-gain", "x"], "--min-gain 'x': expected a percentage such as 5%"),
        (["diagnose", SAMPLE, "--min-gain", "101"], "--min-gain '101': expected 0 to 100 %"),
        (["diagnose", SAMPLE, "--max-unpacked", "2X"], "--max-unpacked '2X': expected a size such as 32K or 2G"),
        (["facts", SAMPLE, "--map", "sm"], "--map 'sm': expected COLUMN=METRIC - write --map \"Their Column=sm.throughput\""),
        (["facts", SAMPLE, "--map", "A=sm.thruput"], "--map 'A': unknown metric 'sm.thruput' - did you mean 'sm.throughput'?"),
        (["facts", SAMPLE, "--map", "A=?"], "--map 'A': unknown metric '?' - see: triage list metrics"),
        (["diagnose", SAMPLE, "-f", "x.j2"], "x.j2: no such template - check the path"),
        (["compare", SAMPLE, SAMPLE, "--noise", "-1"], "--noise '-1': expected 0 to 100 %"),
        (["compare", SAMPLE, SAMPLE, "--fail-on-regression", ""], "--fail-on-regression '': expected a percentage such as 5%"),
        (["tickets", SAMPLE, "-o", "nowhere", "--min-saving", "1 ms"], "--min-saving '1 ms': expected a percentage such as 5%"),
        (["occupancy", "--arch", "sm_86", "--threads", "1x", "--regs", 4], "--threads '1x': expected N, XxY or XxYxZ, whole numbers of 1 or more"),
        (["occupancy", "--arch", "sm_86", "--threads", 32, "--regs", 4, "--shared", "1X"], "--shared '1X': expected a size such as 32K or 2G"),
        (["occupancy", "--arch", "sm_86", "--threads", 32], "missing option --regs - see: triage occupancy --help"),
        (["occupancy", "--tile", "16x16", "--regs", 4], "--regs: not an option of --tile - remove it, or --tile"),
        (["occupancy", "--arch", "sm_86", "--threads", 32, "--regs", 4, "--border", 2], "--border: option of --tile - add --tile WxH"),
        (["occupancy", "--tile", "16x16", "-f", "html"], "--format 'html': choose terminal, markdown or json with --tile"),
        (["diagnose", SAMPLE, "--opinions", "-f", "html"], "--format 'html': choose terminal or json with --opinions"),
        (["diagnose", SAMPLE, "--opinions", "--fail-on", "low"], "--fail-on: not an option of --opinions - remove one of them"),
        (["diagnose", SAMPLE, "--events", "gone.txt"], "gone.txt: no such file - check --events"),
        (["diagnose", SAMPLE, "--top", "x"], "--top 'x': expected a whole number, 0 or more"),
        (["diagnose", SAMPLE, "--top", "-1"], "--top -1: expected 0 or more"),
        (["watch", "d", "-o", "o", "--every", "0"], "--every 0: expected at least 0.05 seconds"),
        (["watch", "d", "-o", "o", "--every", "nan"], "--every 'nan': expected a number"),
        (["diagnose", SAMPLE, "--fail-on", "huge"], "--fail-on 'huge': choose info, low, medium, high, critical or budget"),
        (["diagnose", SAMPLE, "--decimal", ""], "--decimal '': choose point or comma"),
        (["list", "foo"], "unknown list 'foo' - choose rules, causes, metrics, dialects, formats, devices or terms"),
        (["diagnose"], "missing argument FILE... - see: triage diagnose --help"),
        (["diagnose", SAMPLE, "--formt", "x"], "unknown option '--formt' - did you mean '--format'?"),
        (["diagnose", SAMPLE, "--top"], "--top: missing value - see: triage diagnose --help"),
        (["diagnose", SAMPLE, "--full=3"], "--full: takes no value - see: triage diagnose --help"),
        (["facts", "a", "b"], "unexpected argument 'b' - see: triage facts --help"),
        (["diagnos", "x"], "unknown command 'diagnos' - did you mean 'diagnose'?"),
        (["history", "ad", "x"], "unknown command 'history ad' - did you mean 'add'?"),
        (["history"], "missing command - choose add, comment, gate, list or show"),
        (["agree", "x.csv"], "unknown command 'agree' - now: triage diagnose --opinions"),
        (["tile", "16x16"], "unknown command 'tile' - now: triage occupancy --tile"),
        (["comment", "x.md"], "unknown command 'comment' - now: triage history comment"),
        (["diagnose", SAMPLE, "--set", "nope.threshold=3"], "--set: unknown rule 'nope' - see: triage list rules"),
        (["diagnose", SAMPLE, "--set", "crop-limited.zzz=3"], "--set: SOL017 (crop-limited) has no threshold 'zzz' - choose noticeable, busy, none or even"),
        (["diagnose", SAMPLE, "--set", "crop-limited"], "--set 'crop-limited': expected RULE.threshold=VALUE"),
        (["compare", SAMPLE], "need one capture before and one after (got 1) - write: triage compare BEFORE AFTER, or --before FILE... --after FILE..."),
        (["diagnose", SAMPLES], f"{SAMPLES}: folder with 248 captures - use: triage batch {SAMPLES} -o OUT"),
        (["diagnose", SAMPLES / "gpu-trace" / "demo_frame", "--dialect", "ncu-raw"], f"{SAMPLES / 'gpu-trace' / 'demo_frame'}: a folder, expected a file - name a file, or remove --dialect"),
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
        (_types.Size(), "32K", 32768), (_types.Size(), "48 KiB", 49152), (_types.Size(), "1MB", 1 << 20),
        (_types.Extent(), "16x8", (16, 8, 1)), (_types.TokenList(), " a ,,b", ("a", "b")), (_types.TokenList(), "", ()),
        (_types.Mapped(), "My = column = gpu.time", ("My = column", "gpu.time")),
        (_types.Reports(), "json,html", ("json", "html")),
    ],
)  # fmt: skip
def test_what_is_parsed(kind: _types.Text, text: str, value: object) -> None:
    assert kind.convert(text, None, None) == value
    assert kind.convert(value, None, None) == value


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


@pytest.mark.parametrize(
    "verb", ["diagnose", "batch", "compare", "tickets", "watch", "facts", "explain", "history add"]
)
def test_reading_options_are_a_group_behind_the_commands_own(verb: str) -> None:
    text = run(*verb.split(), "--help").stdout
    own, _, rest = text.partition("\nReading options:\n")
    reading = rest.partition("\nRule options:\n")[0]
    assert own.partition("\nOptions:\n")[2].rstrip().endswith("Show this message and exit.")
    listed = re.findall(r"^  (--[\w-]+)", reading, re.MULTILINE)
    assert listed == [
        *("--dialect", "--dialects", "--device", "--marker", "--needs", "--unfold", "--map", "--events", "--decimal"),
        "--max-unpacked",
        "--config",
    ]
    assert not [o for o in listed if f"  {o} " in own]


def test_numbers_in_help_are_the_constants() -> None:
    assert f"(default {BYTES >> 30}G)" in " ".join(run("diagnose", "--help").stdout.split())
    assert f"the top {LISTED} of each capture" in " ".join(run("batch", "--help").stdout.split())
    text = " ".join(run("compare", "--help").stdout.split())
    assert f"[default: {FLOOR:.0%}]" in text and f"else {MARGIN:.0%}." in text


@pytest.mark.slow
def test_a_path_in_place_of_a_command_is_diagnosed(tmp_path: Path) -> None:
    asked = run("diagnose", SAMPLE, "-f", "json")
    assert run(SAMPLE, "-f", "json").stdout == asked.stdout
    (tmp_path / "frame").write_bytes(SAMPLE.read_bytes())
    assert run("frame", "--top", "1", cwd=tmp_path).returncode == 0  # no dot, no separator, but it is there
    assert run("-", input=SAMPLE.read_text("utf-8")).returncode == 0
    assert run("gone.csv").stderr == "triage: gone.csv: no such file or folder - check the path\n"
    (tmp_path / "tile").write_bytes(SAMPLE.read_bytes())  # an old command stays one
    assert "now: triage occupancy --tile" in run("tile", cwd=tmp_path).stderr


def test_a_skipped_file_is_counted_beside_its_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello world\n")
    done = run("diagnose", tmp_path / "a.txt", SAMPLE, "-f", "json")
    assert done.returncode == 2 and json.loads(done.stdout)["captures"]
    first, last = done.stderr.splitlines()
    assert "unknown format (first line: 'hello world')" in first and last == "triage: note: 1 of 2 files skipped"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "a,b\n1,2\n", "unknown format (first columns: 'a', 'b') - map columns with --map (see: triage facts {}), or list supported formats: triage list dialects"),
        ("a.csv", "frame,ms\n", "unknown format, a header without rows ('frame', 'ms') - record again, or list supported formats: triage list dialects"),
        ("a.csv", "0.1,2,3\n0.2,2,3\n", "unknown format, rows without a header line (first: '0.1', '2', '3') - put the header line of the tool's file back as line 1"),
        ("a.json", '{"a": 1}\n', "JSON in no layout that triage reads - export a table, or list supported formats: triage list dialects"),
        ("b.json", "{\n \"\"\n", "JSON in no layout that triage reads - export a table, or list supported formats: triage list dialects"),
        ("a.csv", "Name,Duration (furlongs)\nk,1\n", "unknown unit 'furlongs' in 'Duration (furlongs)' - use ns, us, ms or s"),
        ("a.csv", "Name,Duration (ns)\nk,abc\n", "2: no numeric cells ('abc' in Duration (ns)) - check the column, or export again"),
        ("a.csv", "Name,Duration (ns),SM %\nk,1\nj,2\n", "2: 2 cells, header has 3; most rows are like this - export again"),
        ("a.sqlite", "\x00\x01\x02" * 99, "not a SQLite database - copy it again, or export again: nsys export --type sqlite REPORT"),
        ("a", "\x00\x01\x02" * 99, "binary data, not a text export - export the table as CSV"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_capture_is_named_for_what_it_is(tmp_path: Path, name: str, text: str, line: str) -> None:
    (tmp_path / name).write_text(text)
    done = run("diagnose", name, cwd=tmp_path)
    message = f"triage: {name}:{'' if line[0] == '2' else ' '}{line.format(name)}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.slow
def test_a_folder_without_a_capture_says_so(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    asked = lambda: run("diagnose", "d", cwd=tmp_path).stderr  # noqa: E731
    assert asked() == "triage: d: folder is empty - name a capture, or use: triage batch d\n"
    (tmp_path / "d" / "notes.txt").write_text("hello world\n")
    assert asked() == "triage: d: unknown format (first files: notes.txt) - name a capture, or use: triage batch d\n"


def test_no_local_name_hides_an_import_or_a_builtin() -> None:
    """In the commands: arguments, variables and imports of functions keep clear of names of the module and of Python."""
    hidden = []
    for file in sorted((ROOT / "triage" / "commands").glob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
        known = {(a.asname or a.name).partition(".")[0] for n in imports for a in n.names} | set(dir(builtins))
        for f in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda)):
            inner = list(ast.walk(f))
            local = {n.arg for n in inner if isinstance(n, ast.arg)}
            local |= {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            local |= {a.asname or a.name for n in inner if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names}
            hidden += [f"{file.name}:{f.lineno}: {name}" for name in sorted(local & known)]
    assert hidden == []
