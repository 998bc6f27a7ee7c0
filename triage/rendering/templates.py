"""Templates -> text. With render.py the only module that imports jinja2.

The project's own templates and a user's see the same variables (docs/templates.md). A user's template runs in Jinja's
sandbox: it reads the result and nothing else, and what it may write and multiply is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from triage.document import document, summary
from triage.files import cache
from triage.files.bundled import share
from triage.ground import units
from triage.ground.errors import ReportError
from triage.rendering import escape, phrases

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis

Write = Callable[[str], Any]
MOST_TEXT = 256_000_000  # characters a user's template may write
MOST_ITEMS = 1_000_000  # size of what it may build with * and **
SHORT = 5  # findings a short report lists
MARKUP = (".html", ".htm", ".xml", ".svg")


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with bounded multiplication."""

    intercepted_binops = frozenset(["*", "**", "+"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse operands whose product would eat the machine."""
        sizes = [
            len(v) if isinstance(v, str | list | tuple) else abs(v) if isinstance(v, int) else 0 for v in (left, right)
        ]
        if operator == "**" and (sizes[1] > 64 or sizes[0] > 1_000_000):
            raise jinja2.exceptions.SecurityError("the exponent is too large")
        if (
            operator == "*"
            and not all(isinstance(v, int | float) for v in (left, right))
            and sizes[0] * sizes[1] > MOST_ITEMS
        ):
            raise jinja2.exceptions.SecurityError("the product is too large")
        if (
            operator == "+"
            and sizes[0] + sizes[1] > 100 * MOST_ITEMS
            and not all(isinstance(v, int | float) for v in (left, right))
        ):
            raise jinja2.exceptions.SecurityError("the sum is too large")
        return super().call_binop(context, operator, left, right)


class Compiled(jinja2.BytecodeCache):
    """The project's own templates, compiled once per machine. A user's are compiled each time, in the sandbox."""

    def __init__(self, flavour: str) -> None:
        self.flavour = flavour

    def _name(self, bucket: jinja2.bccache.Bucket) -> str:
        return f"template{self.flavour}-{jinja2.__version__}-{bucket.key}-{bucket.checksum}"

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """See jinja2.BytecodeCache."""
        if (kept := cache.recall(self._name(bucket))) is not None:
            bucket.bytecode_from_string(kept)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """See jinja2.BytecodeCache."""
        cache.keep(self._name(bucket), bucket.bytecode_to_string())


def kind(path: Path) -> str:
    """The extension that decides escaping: `mine.html.j2` -> `.html`."""
    return Path(path.name.removesuffix(".j2")).suffix.lower()


def environment(path: Path, trusted: bool) -> jinja2.Environment:
    """An environment for one template: loader, escaping by extension, filters."""
    flavour = kind(path)
    folders = [str(path.parent), str(share("reports"))]
    loader = jinja2.FileSystemLoader(list(dict.fromkeys(folders)))
    options: dict[str, Any] = {
        "loader": loader, "autoescape": flavour in MARKUP, "undefined": jinja2.StrictUndefined,
        "trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True,
    }  # fmt: skip
    made = jinja2.Environment(**options, bytecode_cache=Compiled(flavour)) if trusted else Sandbox(**options)
    made.filters.update(filters(flavour, path.name))
    return made


def filters(flavour: str, name: str = "") -> dict[str, Callable[..., Any]]:
    """Filters of every template; `prose` and `name` escape for the template's own format."""
    prose: Callable[[Any], Any]
    naming: Callable[..., Any]
    if flavour == ".md":
        prose, naming = escape.markdown, escape.markdown_code
    elif "jira" in name:
        prose, naming = escape.jira, escape.jira_name
    elif flavour in MARKUP:
        prose = lambda text: Markup.escape(escape.clean(text))  # noqa: E731
        naming = lambda text, most=60: Markup.escape(escape.short(text, most))  # noqa: E731
    else:
        prose, naming = escape.clean, escape.short
    return {
        "prose": prose, "name": naming, "clean": escape.clean, "short": escape.short, "md": escape.markdown,
        "md_code": escape.markdown_code, "jira": escape.jira, "time": phrases.time, "percent": phrases.percent,
        "number": phrases.number, "show": units.show, "plural": summary.plural, "lower_first": summary.lower_first, "label": phrases.label,
    }  # fmt: skip


def context(d: Diagnosis, full: bool) -> dict[str, Any]:
    """Variables of every template."""
    from triage.diagnosis import decision_path

    doc = document.document(d)
    memo: dict[str, Any] = {}

    def lazily(what: str, make: Callable[[Diagnosis], dict[str, Any]]) -> Callable[[str], Any]:
        def of(workload: str) -> Any:
            if what not in memo:
                memo[what] = make(d)
            return memo[what].get(workload)

        return of

    def ruled_out(workload: str) -> list[dict[str, Any]]:
        if "out" not in memo:
            memo["out"] = {}
            for r in doc["ruled_out"]:
                memo["out"].setdefault(r["workload"], []).append(r)
        found: list[dict[str, Any]] = memo["out"].get(workload, [])
        return found

    return {
        **{k: v for k, v in doc.items() if k != "schema"}, "result": doc, "summary": summary.summarise(doc), "say": Phrases(),
        "full": full, "listed": len(doc["findings"]) if full or d.top is not None else min(SHORT, len(doc["findings"])),
        "by_id": {w["id"]: w for w in [*_frames(doc), *doc["workloads"]]}, "decision": lazily("steps", decision_path.decisions),
        "roofline": lazily("roofs", decision_path.rooflines), "ruled_out_of": ruled_out,
    }  # fmt: skip


def _frames(doc: dict[str, Any]) -> list[dict[str, Any]]:
    """Stand-ins for the whole frame, which findings may concern: a template can ask for any finding's workload."""
    ids = dict.fromkeys(f["workload"] for f in doc["findings"] if f["workload"].endswith("frame"))
    blank = {"name": "frame", "path": [], "kind": "frame", "calls": 1, "sol": [], "band": "unknown", "primary": [], "secondary": [], "hit_grades": {},
             "limiter_class": "unknown", "duration_ns": doc["frame"]["duration_ns"], "self_ns": None, "share": None}  # fmt: skip
    return [{"id": i, **blank} for i in ids]


class Phrases:
    """The shared sentences, as `say.gain(f)` in a template."""

    def __init__(self) -> None:
        for name in (
            "total",
            "recoverable",
            "limiters",
            "cause",
            "where",
            "gain",
            "saves",
            "check",
            "source",
            "collect",
            "missing",
            "sol",
            "path",
            "tail",
        ):
            setattr(self, name, getattr(phrases, name))
        self.classes, self.meanings, self.bands = (
            dict(phrases.CLASS_NAMES),
            dict(phrases.CLASS_MEANINGS),
            dict(phrases.BANDS),
        )


def render_template(d: Diagnosis, path: Path, write: Write, *, full: bool = False, trusted: bool = False) -> None:
    """Render a template file. Raises ReportError, with the template's line, for anything wrong in it."""
    env = environment(path, trusted)
    names = context(d, full)
    if trusted and path.name.startswith("html."):
        from triage.rendering.html import page

        names["page"] = page.page(d, names)
    written = 0
    try:
        for chunk in env.get_template(path.name).generate(names):
            written += len(chunk)
            if written > MOST_TEXT and not trusted:
                raise ReportError(f"{path}: the template wrote more than {MOST_TEXT:,} characters", "bound its loops")
            write(chunk)
    except ReportError:
        raise
    except jinja2.TemplateSyntaxError as e:
        raise ReportError(f"{e.filename or path}:{e.lineno}: {e.message}", "see docs/templates.md") from e
    except UnicodeDecodeError as e:
        raise ReportError(f"{path}: not UTF-8 text", "save the template as UTF-8") from e
    except Exception as e:
        if trusted:
            raise
        text = " ".join(str(e).split())[:200] or type(e).__name__
        raise ReportError(f"{path}:{_line(e, path)}: {text}", "variables and filters: docs/templates.md") from e


def _line(e: BaseException, path: Path) -> int:
    """Line of the template where an exception came up; Jinja rewrites tracebacks to template lines."""
    line, step = 1, e.__traceback__
    while step is not None:
        if Path(step.tb_frame.f_code.co_filename).name == path.name:
            line = step.tb_lineno
        step = step.tb_next
    return line


def render(name: str, **names: Any) -> str:
    """One of the project's own templates (a file name in reports/) with these variables."""
    path = share("reports") / name
    return environment(path, trusted=True).get_template(path.name).render(names)
