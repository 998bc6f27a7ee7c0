"""`triage mcp` answers the SDK's own client over stdio and HTTP, reads nothing outside its folders, and stays short."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLES
from triage.commands._agent import MAX_ANSWER_CHARS, Tools
from triage.ground.errors import TriageError

HEAD = "path,name,kind,gpu.time [ms],sm.throughput [%],l1tex.throughput [%],vram.throughput [%],sm.active_warps,l2.throughput [%],crop.throughput [%]"
pytestmark = pytest.mark.filterwarnings("ignore")  # of the SDK


def table(path: Path, ms: float = 2.0) -> Path:
    rows = [f"Frame,Pass{i},fullscreen,{ms + i / 10},{20 + i},25,90,30,5,5" for i in range(6)]
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


COMMAND = [sys.executable, "-m", "triage", "mcp"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def asking(server: Any, asked: Callable[[Any], Awaitable[Any]]) -> Any:
    """Let the SDK's client ask a server: an address, or a process to start."""
    pytest.importorskip("mcp")
    import anyio
    from mcp import Client

    async def main() -> Any:
        with anyio.fail_after(240):
            async with Client(server) as client:
                return await asked(client)

    return anyio.run(main)


def talk(folder: Path, asked: Callable[[Any], Awaitable[Any]]) -> Any:
    """Start `triage mcp FOLDER`, and let the SDK's client ask over stdio."""
    pytest.importorskip("mcp")
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], str(folder)], cwd=str(folder), env=ENVIRONMENT
    )
    return asking(stdio_client(server), asked)


def answer(result: Any) -> Any:
    assert not result.is_error, result.content
    assert result.structured_content == json.loads(result.content[0].text)
    return result.structured_content


@pytest.mark.slow
def test_a_real_client_is_answered(tmp_path: Path) -> None:
    table(tmp_path / "a.csv")
    table(tmp_path / "b.csv", 1.5)
    (tmp_path.parent / "secret.csv").write_text((tmp_path / "a.csv").read_text())
    (tmp_path / "link.csv").symlink_to(tmp_path.parent / "secret.csv")

    async def asked(client: Any) -> None:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert set(tools) == {"brief", "diagnose", "explain", "compare", "facts", "occupancy", "next_capture"}
        assert all(t.description and t.title for t in tools.values())
        assert all(t.annotations.read_only_hint and t.annotations.idempotent_hint for t in tools.values())
        assert not any(t.annotations.open_world_hint or t.annotations.destructive_hint for t in tools.values())
        for name in ("diagnose", "compare", "facts", "occupancy", "next_capture"):
            assert set(tools[name].output_schema["properties"]) == set(tools[name].output_schema["required"]), name
        assert tools["diagnose"].output_schema["$defs"]["Item"]["properties"]["saved_ns"]
        assert set(tools["diagnose"].input_schema["properties"]) == {"path", "start", "count", "device", "marker"}
        steps: list[str] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            steps.append(message or "")

        found = answer(await client.call_tool("diagnose", {"path": "a.csv"}, progress_callback=progress))
        assert steps == ["reading", "diagnosing", "writing"]
        assert found["headline"]
        assert found["root_causes"] == len(found["todo"]) + found["more"]
        said = await client.call_tool("explain", {"name": found["todo"][0]["cause"]})
        assert found["todo"][0]["cause"] in said.content[0].text
        why = await client.call_tool("explain", {"name": found["todo"][0]["rule"], "path": "a.csv"})
        assert "Pass" in why.content[0].text
        both = answer(await client.call_tool("compare", {"before": ["a.csv"], "after": ["b.csv"]}))
        assert both["frame"]["verdict"] == "faster"
        values = answer(await client.call_tool("facts", {"path": "a.csv", "metric": "sm.*", "count": 3}))
        assert (len(values["facts"]), values["more"]) == (3, 9)
        launch = answer(await client.call_tool("occupancy", {"arch": "sm_86", "threads": 256, "registers": 80}))
        assert launch["limiters"]
        more = answer(await client.call_tool("next_capture", {"path": "a.csv"}))
        assert more["captures"][0]["collect"]
        for hostile in (
            "../secret.csv",
            str(tmp_path.parent / "secret.csv"),
            "link.csv",
            "/etc/passwd",
            "..",
            "-",
            "https://x/y.csv",
        ):
            refused = await client.call_tool("diagnose", {"path": hostile})
            assert refused.is_error
            assert "Traceback" not in refused.content[0].text
            assert "secret" not in refused.content[0].text.replace(hostile, "")
            leaked = None
            with contextlib.suppress(Exception):
                leaked = await client.read_resource(f"triage://reports/{hostile}")
            assert leaked is None
        await texts(client)
        wrong = await client.call_tool("explain", {"name": "no-such-thing"})
        assert wrong.is_error
        assert "unknown rule, cause, metric or term" in wrong.content[0].text

    talk(tmp_path, asked)


async def texts(client: Any) -> None:
    """Ask for resources and prompts."""
    uris = {str(r.uri) for r in (await client.list_resources()).resources}
    assert uris == {"triage://captures", "triage://causes", "triage://rules", "triage://skill"}

    async def read(uri: str) -> str:
        return str((await client.read_resource(uri)).contents[0].text)

    assert json.loads(await read("triage://captures")) == ["a.csv", "b.csv"]
    assert "bank-conflicts" in {c["cause"] for c in json.loads(await read("triage://causes"))}
    assert "MEM003" in {r["rule"] for r in json.loads(await read("triage://rules"))}
    assert "name: gpu-triage" in await read("triage://skill")
    assert (await read("triage://causes/bank-conflicts")).startswith("bank-conflicts - ")
    assert (await read("triage://rules/MEM003")).startswith("MEM003 ")
    assert "\n== " in await read("triage://reports/a.csv")
    prompts = {p.name: p for p in (await client.list_prompts()).prompts}
    assert set(prompts) == {"diagnose", "verify_change", "next_capture"}
    asked = await client.get_prompt("verify_change", {"before": "a.csv", "after": "b.csv"})
    assert "compare" in asked.messages[0].content.text and "(a.csv)" in asked.messages[0].content.text


@pytest.mark.slow
def test_http_serves_this_machine(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    pytest.importorskip("uvicorn")
    table(tmp_path / "a.csv")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    served = subprocess.Popen([*COMMAND, str(tmp_path), "--http", str(port)], env=ENVIRONMENT)

    async def asked(client: Any) -> None:
        said = await client.call_tool("brief", {"path": "a.csv"})
        assert "capture: " in said.structured_content["result"]

    try:
        until_open(port)
        asking(f"http://127.0.0.1:{port}/mcp", asked)
    finally:
        served.terminate()
        served.wait(30)


def until_open(port: int) -> None:
    """Wait until a server on this machine takes connections."""
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    pytest.fail(f"nothing listens on port {port}")


def test_the_registry_entry_starts_the_server() -> None:
    import tomllib

    from triage import __version__

    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (package,) = entry["packages"]
    assert (entry["version"], package["version"], package["identifier"]) == (*[__version__] * 2, project["name"])
    assert package["transport"] == {"type": "stdio"}
    assert package["packageArguments"][0]["value"] == "mcp"
    assert len(entry["description"]) <= 100


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    (tmp_path / "in").mkdir()
    return Tools([tmp_path / "in"])


@pytest.mark.parametrize(
    "path", ["", "-", "a\0b", "s3://b/x.csv", "..", "../out.csv", "/etc/passwd", "~/x.csv", "in/../../x"]
)
def test_paths_outside_are_refused(tools: Tools, path: str) -> None:
    (tools.folders[0].parent / "out.csv").write_text("x")
    with pytest.raises(TriageError):
        tools.facts(path)


def test_links_that_lead_outside_are_refused(tools: Tools, tmp_path: Path) -> None:
    inside = tools.folders[0]
    (tmp_path / "out.csv").write_text("x")
    (inside / "link.csv").symlink_to(tmp_path / "out.csv")
    (inside / "folder").mkdir()
    (inside / "folder" / "GPUTRACE_REGIMES.xls").symlink_to(tmp_path / "out.csv")
    (inside / "way").symlink_to(tmp_path)
    for path in ("link.csv", "folder", "way", "way/out.csv"):
        with pytest.raises(TriageError, match="outside the allowed folders"):
            tools.facts(path)
    # nor what is read together with a file that lies inside
    table(inside / "pmc_perf.csv")
    assert tools.facts("pmc_perf.csv")["facts"]
    (inside / "sysinfo.csv").symlink_to(tmp_path / "out.csv")
    with pytest.raises(TriageError, match="outside the allowed folders"):
        tools.facts("pmc_perf.csv")


def test_a_prefix_of_a_name_is_another_folder(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "inside-out").mkdir()
    table(tmp_path / "inside-out" / "a.csv")
    with pytest.raises(TriageError):
        tools.facts("../inside-out/a.csv")


@pytest.mark.parametrize("swapped", ["file", "folder", "export"])
def test_a_race_of_links_reads_nothing_outside(tools: Tools, tmp_path: Path, swapped: str) -> None:
    """Names inside are swapped for links to the outside, all the time; a minute of it: TRIAGE_RACE=60."""
    inside, outside = tools.folders[0], tmp_path / "outside"
    for place, word in ((inside / "d", "open"), (outside, "secret")):
        place.mkdir()
        table(place / "a.csv")
        (place / "a.csv").write_text((place / "a.csv").read_text().replace("Pass", word))
    target = inside / "d" / "a.csv" if swapped == "file" else inside / "d"
    aim = outside / "a.csv" if swapped == "file" else outside
    code = """if True:
        import os, sys
        target, aim = sys.argv[1:]
        while os.getppid() != 1:
            os.symlink(aim, target + ".new")
            os.rename(target, target + ".kept")
            os.rename(target + ".new", target)
            os.unlink(target)
            os.rename(target + ".kept", target)
    """
    racer = subprocess.Popen([sys.executable, "-c", code, str(target), str(aim)])
    answers = refused = 0
    until = time.monotonic() + float(os.environ.get("TRIAGE_RACE", "1.2"))
    try:
        while time.monotonic() < until:
            try:
                said = json.dumps(tools.facts("d" if swapped == "export" else "d/a.csv", count=5))
                answers += 1
            except (TriageError, OSError) as e:
                said, refused = str(e), refused + 1
            assert "secret" not in said.replace("secret.csv", "")
    finally:
        racer.kill()
        racer.wait()
    assert answers + refused > 3


def test_arguments_are_bounded(tools: Tools) -> None:
    table(tools.folders[0] / "a.csv")
    began = time.process_time()
    for ask in (
        lambda: tools.facts("a.csv", metric="[" * 20_000), lambda: tools.explain("x" * 20_000), lambda: tools.brief("a.csv", marker="*" * 20_000),
        lambda: tools.compare(["a.csv"] * 99, ["a.csv"]), lambda: tools.diagnose("a/" * 9_999), lambda: tools.facts("a.csv", metric="[" * 999),
    ):  # fmt: skip
        with suppress(TriageError):
            assert not ask()["facts"]
    assert time.process_time() - began < 5


def test_answers_name_the_capture_not_its_copy(tools: Tools) -> None:
    table(tools.folders[0] / "a.csv")
    (tools.folders[0] / "b.csv").write_text("nothing")
    with pytest.raises(TriageError) as e:
        tools.facts("b.csv")
    assert str(e.value).startswith(f"{tools.folders[0]}/b.csv: ")
    assert f"{tools.folders[0]}/a.csv" in tools.brief("a.csv") or "triage-" not in tools.brief("a.csv")


@pytest.mark.slow
def test_answers_stay_short_and_the_rest_is_on_demand(tmp_path: Path) -> None:
    tools = Tools([SAMPLES])
    frame = "gpu-trace/demo_frame"
    first = tools.diagnose(frame, count=3)
    assert len(json.dumps(first)) <= MAX_ANSWER_CHARS
    assert first["more"] > 0
    rest = tools.diagnose(frame, start=len(first["todo"]) + 1)
    assert rest["todo"][0]["rank"] == len(first["todo"]) + 1
    assert len(json.dumps(tools.facts(frame, count=200))) <= MAX_ANSWER_CHARS
    assert len(json.dumps(tools.next_capture(frame))) <= MAX_ANSWER_CHARS
    assert len(tools.explain("texture-latency", frame)) <= MAX_ANSWER_CHARS + 100


def test_an_item_says_where_and_what_is_awaited_there() -> None:
    items = Tools([SAMPLES]).diagnose("ncu-rep/transpose.ncu-rep")["todo"]
    at = [line for item in items for line in item.get("at", ())]
    assert any("waits for the global load (LDG) of argument 1 (const float*) at transpose.cu:12" in line for line in at)
