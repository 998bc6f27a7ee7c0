"""Every command of README and docs: run as written, on files that the names stand for; every inline one names what exists."""

import gzip
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.conftest import ROOT, SAMPLES
from tests.products.test_history import capture
from triage.commands import cli

PAGES = ["README.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
ELSEWHERE = {  # run whole, in order, by another test
    "docs/dialect.md": "test_outside.py",
}
# they serve, wait or post: their options are checked, they do not run
NOT_RUN = re.compile(r"^(mcp|watch|batch s3:|batch captures/ 'nightly|tickets .*--send)|--dask")
PURE = ("diagnose sample_captures", "diagnose frame.csv", "explain", "occupancy", "list")
RUN: set[str] = set()  # of these, what another page has asked already
FAILS = {  # exit code 1 is what the page shows
    ("README.md", "history gate"): 1,
    ("docs/daily.md", "compare --before 'old-*.csv' --after 'new-*.csv' --fail-on-regression 5%"): 1,
    ("docs/gate.md", "history gate --history out/gate.sqlite"): 1,
    ("docs/gate.md", "history gate --history out/gate.sqlite -f junit -o out/gate.xml"): 1,
    ("docs/gate.md", "diagnose sample_captures/gpu-trace/demo_frame --target 12ms --fail-on budget"): 1,
}


def blocks(page: str) -> list[list[str]]:
    """The `$` lines of a page, block by block, without the prompt."""
    text = (ROOT / page).read_text("utf-8")
    found = re.findall(r"```console\n(.*?)```", text, re.S)
    return [[line[2:] for line in block.splitlines() if line.startswith("$ ")] for block in found]


def commands(page: str) -> list[str]:
    """What follows `triage` on the `$` lines of a page, without comments."""
    lines = [line for block in blocks(page) for line in block]
    asked = [shlex.join(shlex.split(line, comments=True)) for line in lines if re.match(r"(\w+=\S+ )?triage ", line)]
    return [re.sub(r"^('?\w+=\S+ )?triage ", "", a) for a in asked]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    at = tmp_path_factory.mktemp("docs")
    (at / "sample_captures").symlink_to(SAMPLES)
    frame, report = SAMPLES / "gpu-trace" / "demo_frame", SAMPLES / "ncu-rep" / "transpose.ncu-rep"
    trace = SAMPLES / "pytorch-trace" / "training.pt.trace.json"
    for name in ("frame.csv", "FILE"):
        shutil.copytree(frame, at / name)
    for name in ("report.ncu-rep", "reduce.ncu-rep"):
        shutil.copyfile(report, at / name)
    (at / "trace.pt.trace.json.gz").write_bytes(gzip.compress(trace.read_bytes()))
    for rank in "01":
        text = trace.read_text("utf-8").replace('"rank": 0', f'"rank": {rank}')
        (at / f"rank{rank}.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))
    shutil.copyfile(SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite", at / "job.sqlite")
    for side in ("before", "after"):
        shutil.copyfile(SAMPLES / "compare" / f"table2_{side}.csv", at / f"{side}.csv")
    for n in range(1, 4):
        for side, factor in (("old", 1.0), ("new", 1.08), ("before", 1.0), ("after", 0.9)):
            times = {"Shadow": 1.0 + n / 999, "Light": (2.0 + n / 999) * factor, "Post": 0.5}
            capture(at / f"{side}-{n}.csv", times, "Light" if side == "new" else "")
    for folder in ("captures", "out"):
        (at / folder).mkdir()
    shutil.copyfile(SAMPLES / "generic" / "p3_workloads_v2.csv", at / "captures" / "a.csv")
    template = re.search(r"```jinja\n(.*?)```", (ROOT / "docs" / "templates.md").read_text("utf-8"), re.S)
    assert template
    (at / "mine.md.j2").write_text(template[1])
    page = (ROOT / "docs" / "rule-pack.md").read_text("utf-8")
    name, rule = re.search(r"`(gpu-rules/[^`]+\.yaml)`", page), re.search(r"```yaml\n(.*?)```", page, re.S)
    assert name and rule
    (at / name[1]).parent.mkdir(parents=True)
    (at / name[1]).write_text(rule[1], "utf-8")
    return at


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if p not in ELSEWHERE and commands(p)])
def test_the_commands_of_a_page_run(page: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("TRIAGE_CONFIG", "off")
    for left in ("triage-history.sqlite", "demo_frame", "training.pt.trace.json", "transpose.ncu-rep", "tickets"):
        shutil.rmtree(home / left) if (home / left).is_dir() else (home / left).unlink(missing_ok=True)
    if page == "docs/work-model.md":
        shutil.copyfile(home / "report.ncu-rep", home / "transpose.ncu-rep")
    gates, printed = 0, ""
    for asked in commands(page):
        if NOT_RUN.search(asked) or asked in RUN:
            continue
        if asked.startswith(PURE):
            RUN.add(asked)
        args = shlex.split(asked)
        if "yesterday/tickets.json" in args:
            shutil.copytree(home / "tickets", home / "yesterday", dirs_exist_ok=True)
        done = CliRunner().invoke(cli.triage, args, standalone_mode=False)
        assert done.exception is None, (asked, done.exception)
        printed += done.output
        gates += (is_gate := args[:2] == ["history", "gate"])
        fails = page == "docs/history.md" and is_gate and gates == 2  # its second gate
        wanted = FAILS.get((page, asked), int(fails))
        assert (done.return_value or 0) == wanted, (asked, done.output[-500:])

    if page == "docs/history.md":  # with your own files
        return
    for promised in re.findall(r"(?m)^(triage: failed .*?)(?: \(| \.\.\.|$)", (ROOT / page).read_text("utf-8")):
        assert promised in printed


@pytest.mark.slow
def test_the_settings_of_the_rule_pack_enable_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "rule-pack.md").read_text("utf-8"), re.S)
    assert settings
    (home / "pack.toml").write_text(settings[1])
    monkeypatch.chdir(home)
    monkeypatch.setenv("TRIAGE_CONFIG", "pack.toml")
    asked = ["diagnose", "sample_captures/generic/p3_workloads_v2.csv", "-f", "csv"]
    assert "STU001" in CliRunner().invoke(cli.triage, asked, standalone_mode=False).stdout


def known(verb: list[str]) -> set[str]:
    """The options of a command, given its words."""
    found: click.Command = cli.triage
    for word in verb:
        if isinstance(found, click.Group) and (inner := found.get_command(click.Context(found), word)) is not None:
            found = inner
    return {o for p in found.params for o in (*p.opts, *p.secondary_opts)} | {"-h", "--help"}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    inline = [m[1] for m in re.finditer(r"`triage ([^`]+)`", text)]
    for asked in [*inline, *commands(page)]:
        words = asked.split()
        if words[0] in cli.VERBS:
            options = [w.partition("=")[0].strip("'[]") for w in words if re.match(r"['\[]?--?[a-zA-Z]", w)]
            assert set(options) <= known(words[:2]), asked
        else:
            assert words[0] in ("--version", "FILE", "FILE...") or not re.match(r"^[a-z]+$", words[0]), asked


@pytest.mark.parametrize("page", [*PAGES, "benchmarks/README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_programs_targets_and_extras_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for script, rest in re.findall(r"python (benchmarks/\w+\.py|docs/\w+\.py)([^`\n]*)", text):
        source = (ROOT / script).read_text("utf-8")
        assert all(f'"{o}"' in source for o in re.findall(r"--[a-z-]+", rest)), (script, rest)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"(?:`|\$ )make ([a-z]+)", text):
        assert re.search(rf"(?m)^{target}:", makefile), target
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"'\.\[(\w+)\]'", text)) <= set(extras)


def test_every_page_begins_with_its_title_and_is_short() -> None:
    for page in PAGES:
        lines = (ROOT / page).read_text("utf-8").splitlines()
        assert lines[0].startswith("# ") or lines[0].startswith("<!--"), page
        assert len(lines) <= 400, page
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 120
