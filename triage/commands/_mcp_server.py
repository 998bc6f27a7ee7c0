"""The MCP server: tools with schemas and annotations, resources, prompts. Needs the official SDK."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from triage.commands import _agent
from triage.commands._agent import Tools
from triage.files.bundled import share
from triage.ground.errors import TriageError

TOOLS = {  # name -> title
    "brief": "Brief of a capture, to be weighed",
    "diagnose": "To-do list of a capture",
    "explain": "Explain a rule, cause, metric, term or marker",
    "compare": "Verify a change",
    "facts": "Values of metrics",
    "occupancy": "Theoretical occupancy",
    "next_capture": "What to capture next",
}
ABOUT = (
    "GPU performance triage: reads profiler exports and says what to fix, with the time each fix saves. Start with brief: verdict, cause "
    "ids, deciding numbers, counts, what is ruled out or untested. diagnose has the to-do list with fixes. Ask explain CAUSE with a path "
    "why a cause is not named. Call next_capture when much was not measured; after a change call compare, with repeats on both sides. "
    "State no number that is in none of the answers."
)
HONEST = (
    "Name at most three causes, by id, the most likely first, each with the numbers that decide and its saving as a range. A suspected "
    "cause stays suspected. Where the verdict is not-diagnosed, say that the capture cannot tell and what is missing; where it is at-limit, "
    "say that there is nothing to fix. Give no number that stands in none of the answers."
)


def server(tools: Tools) -> Any:
    """An MCPServer over these tools. Raises ImportError without the SDK."""
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    from triage import __version__

    made = MCPServer(
        "triage", title="GPU performance triage", instructions=ABOUT, version=__version__, log_level="ERROR"
    )
    for name, title in TOOLS.items():
        hints = ToolAnnotations(
            title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        made.tool(name, title=title, annotations=hints)(_reporting(getattr(tools, name)))
    _resources(made, tools)
    _prompts(made)
    return made


def _reporting(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool as a coroutine that reports its steps as progress, and triage's errors in one line."""
    import anyio.from_thread
    import anyio.to_thread
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError

    async def call(ctx: Any, **given: Any) -> Any:
        count = 0

        def step(text: str) -> None:
            nonlocal count
            count += 1
            anyio.from_thread.run(functools.partial(ctx.report_progress, count, message=text))

        def work() -> Any:
            _agent.STEP.set(step)
            return tool(**given)

        try:
            return await anyio.to_thread.run_sync(work)
        except (TriageError, OSError) as e:
            raise ToolError(str(e)) from None

    plain = inspect.signature(tool, eval_str=True)
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    call.__signature__ = plain.replace(parameters=[*plain.parameters.values(), context])  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in (*plain.parameters.values(), context)}
    call.__annotations__["return"] = plain.return_annotation
    call.__name__, call.__doc__ = tool.__name__, tool.__doc__
    return call


def _resources(made: Any, tools: Tools) -> None:
    """Captures, causes, rules, reports and the skill; texts as the command line prints them."""

    def named(name: str) -> str:
        return tools.explain(name)

    def report(path: str) -> str:
        return tools.brief(path)

    made.resource("triage://captures", title="Captures in the folders", mime_type="application/json")(tools.captures)
    made.resource("triage://causes", title="All causes", mime_type="application/json")(tools.causes)
    made.resource("triage://rules", title="All rules", mime_type="application/json")(tools.rules)
    order = "Skill: order of questions, how to read verdicts"
    made.resource("triage://skill", title=order, mime_type="text/markdown")(skill)
    made.resource("triage://causes/{name}", name="cause", title="A cause: meaning, look-alikes, advice, rules")(named)
    made.resource("triage://rules/{name}", name="rule", title="A rule: conditions, thresholds, sources")(named)
    made.resource("triage://reports/{+path}", name="report", title="Brief of a capture")(report)


def skill() -> str:
    """How to use triage, for agents: the skill of this version."""
    return (share("skills") / "gpu-triage" / "SKILL.md").read_text("utf-8")


def _prompts(made: Any) -> None:
    """Ways through the tools."""
    made.prompt(title="Diagnose a capture")(diagnose)
    made.prompt(title="Verify a change")(verify_change)
    made.prompt(title="Next capture")(next_capture)


def diagnose(path: str) -> str:
    """What limits a capture, what to fix first and how sure that is."""
    return (
        f"Diagnose {path}. Call brief. For each cause that you consider, call explain with its id and the path: it says which number "
        f"speaks for it or excludes it. Then call diagnose for what to do and how to verify it. {HONEST}"
    )


def verify_change(before: str, after: str) -> str:
    """Whether a change made it faster; before, after: captures, several separated by commas."""
    return (
        f"Compare the captures before ({before}) with those after ({after}): call compare, with all repeats of a side in one list. "
        "Trust only faster and slower; otherwise needs says how many further runs tell. Then call brief on one capture after: is the "
        "cause that was fixed gone, and what limits now? Give no number that stands in none of the answers."
    )


def next_capture(path: str) -> str:
    """What to measure next, and what it would decide."""
    return (
        f"Call brief on {path}, then next_capture. Name the one capture that decides most: its command, which untested cause it tests, "
        "and how the verdict changes either way. Where nothing of weight is missing, say so."
    )
