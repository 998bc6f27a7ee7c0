"""Templates -> text. With `sandbox` and `template_files`, the only module that imports jinja2.

The project's own templates and a user's see the same variables (docs/templates.md), all of them plain data from a
Bundle: no template infers or opens an input. A user's template runs in a sandbox, which bounds its steps and its output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.loaders import split_template_path
from markupsafe import Markup

from triage.document import summary
from triage.document.bundle import Bundle, ById, Ways, whole_capture
from triage.document.entries import RuledOutEntry
from triage.document.time_shares import needed
from triage.files import beneath, bounded
from triage.files import cache as kept
from triage.files.bundled import share
from triage.ground import phrasing, units
from triage.ground.errors import ReportError
from triage.ground.gap_reasons import GAP_WORDS
from triage.ground.limiters import BANDS, CLASSES, limiter_words
from triage.ground.phrasing import percent
from triage.ground.terminology import localize, voice
from triage.rendering import (
    code_places,
    confined,
    declared,
    escape,
    next_captures,
    phrases,
    timeline_phrases,
    verdict_phrases,
)
from triage.rendering.findings_csv import Write
from triage.rendering.frames_table import DEFAULT_MARKERS, MAX_MARKERS, frames, frames_table
from triage.rendering.labels import AS_DATA
from triage.rendering.operator_table import DEFAULT_OPERATORS, MAX_OPERATORS, cover, operator_table
from triage.rendering.pass_table import pass_table
from triage.rendering.sandbox import MAX_TEXT, Sandbox

DEFAULT_FINDINGS = 5  # findings a short report lists
CHUNK_PIECES = 500  # pieces of a template's output that are written as one text


MAX_BYTES = 1 << 20  # of one template


class Compiled(jinja2.BytecodeCache):
    """The project's own templates, compiled once per machine. A user's are compiled each time, in the sandbox."""

    def __init__(self, flavour: str) -> None:
        self.flavour = flavour

    def _name(self, bucket: jinja2.bccache.Bucket) -> str:
        return f"template.{self.flavour}-{jinja2.__version__}-{bucket.key}-{bucket.checksum}"

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """See jinja2.BytecodeCache."""
        if (code := kept.recall(self._name(bucket))) is not None:
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """See jinja2.BytecodeCache."""
        kept.keep(self._name(bucket), bucket.bytecode_to_string())


def environment(path: Path, trusted: bool) -> jinja2.Environment:
    """An environment for one template: loader, escaping as the template declares it, filters."""
    return _ours(path) if trusted else _made(path, trusted)


@cache
def _ours(path: Path) -> jinja2.Environment:
    """One of the project's own templates, cached: a batch renders the same ones over and over."""
    return _made(path, trusted=True)


def _made(path: Path, trusted: bool) -> jinja2.Environment:
    how = declared.read(path, trusted=trusted).escape
    folders = [path.parent] * trusted + [share("reports"), share("reports") / "_parts"]
    ours = jinja2.FileSystemLoader(list(dict.fromkeys(map(str, folders))))
    options: dict[str, Any] = {
        # a user's own parts come before ours of the same name
        "loader": ours if trusted else jinja2.ChoiceLoader([Below(path), ours]),
        "autoescape": how == "html",
        # a misspelt name is an error, never an empty place in a report
        "undefined": jinja2.StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
        "keep_trailing_newline": True,
    }
    # escaping is compiled in: kept per way, or a part compiled for Markdown would be unescaped on the page
    made = jinja2.Environment(**options, bytecode_cache=Compiled(how)) if trusted else Sandbox(**options)
    made.filters.update(filters(how))
    made.globals["heads"] = dict(AS_DATA)
    if isinstance(made, Sandbox):
        made.guard()
    return made


def _html(text: object) -> Markup:
    return Markup.escape(escape.clean(text))


def _html_name(text: object, most: int = 60) -> Markup:
    return Markup.escape(escape.short(text, most))


# way of escaping -> (filter `prose` for sentences, filter `name` for names from captures)
_ESCAPING: dict[str, tuple[Callable[[object], str], Callable[..., str]]] = {
    "html": (_html, _html_name),
    "markdown": (escape.markdown, escape.markdown_code),
    "jira": (escape.jira, escape.jira_name),
    "text": (escape.clean, escape.short),
}


def filters(how: str) -> dict[str, Callable[..., object]]:
    """Filters of every template; `prose` and `name` escape the way the template declares (one of declared.ESCAPES)."""
    prose, name = _ESCAPING[how]
    return {
        "prose": prose,
        "name": name,
        "clean": escape.clean,
        "breaks": escape.breaks,
        "short": escape.short,
        "md": escape.markdown,
        "md_code": escape.markdown_code,
        "unmentioned": escape.unmentioned,
        "jira": escape.jira,
        "time": phrases.time,
        "percent": percent,
        "number": phrases.number,
        "show": units.show,
        "plural": phrasing.plural,
        "lower_first": phrasing.lower_first,
        "label": phrases.label,
    }


def context(b: Bundle, s: summary.Summary, full: bool, *, ours: bool = False) -> dict[str, object]:
    """Variables of every template. s: summary of the bundle. ours: a template that needs few workloads one by one: only those are made."""
    doc = b.view if ours else b.document
    out: dict[str, list[RuledOutEntry]] = {}
    for r in doc["ruled_out"]:
        out.setdefault(r["workload"], []).append(r)
    count = len(doc["findings"])
    # findings about whole captures have a stand-in: a template can ask for any finding's workload
    whole = dict.fromkeys(f["workload"] for f in doc["findings"] if f["workload"].endswith("frame"))
    by_id = ById(doc["workloads"], [whole_capture(i, doc["frame"]["duration_ns"]) for i in whole])
    return {
        **{k: v for k, v in doc.items() if k != "schema"},
        "result": doc,
        "summary": s,
        "say": Phrases(),
        "noun": voice(),
        "pass_table": pass_table(doc["passes"], full=full),
        "frames_table": frames_table(doc["captures"], most=MAX_MARKERS if full else DEFAULT_MARKERS),
        "operator_table": operator_table(
            doc["frame"]["operators"],
            doc["frame"]["duration_ns"],
            captures=doc["captures"],
            most=MAX_OPERATORS if full else DEFAULT_OPERATORS,
        ),
        "full": full,
        "listed": count if full or b.chosen else min(DEFAULT_FINDINGS, count),
        # what a user's template gets is plain data
        "by_id": by_id if ours else dict(by_id),
        "decision": _getter({} if b.ways is None else b.ways),
        "roofline": _getter(b.rooflines),
        "ruled_out_of": lambda workload: out.get(workload, []),
    }


def _getter(table: Ways | Mapping[str, object]) -> Callable[[str], object]:
    # a function rather than the mapping: what a template calls must not depend on how it is kept
    return lambda workload: table.get(workload)


class Phrases:
    """Shared sentences, as `say.gain(f)` in a template; names of limiter classes, bands and gap reasons."""

    # each function by itself: through the module, a template would reach everything the module imports
    total = staticmethod(phrases.total)
    recoverable = staticmethod(phrases.recoverable)
    rows, base, several = staticmethod(phrases.rows), staticmethod(phrases.base), staticmethod(phrases.several)
    whole = staticmethod(phrases.whole)
    verdict = staticmethod(verdict_phrases.verdict)
    verdicts = staticmethod(verdict_phrases.verdicts)
    more_at_limit = staticmethod(verdict_phrases.more_at_limit)
    root_cause = staticmethod(verdict_phrases.root_cause)
    operator_cover = staticmethod(cover)
    unjudged = staticmethod(verdict_phrases.unjudged)
    dark = staticmethod(verdict_phrases.dark)
    shares, in_no_row = staticmethod(phrases.shares), staticmethod(phrases.in_no_row)
    limiters = staticmethod(phrases.limiters)
    budget = staticmethod(phrases.budget)
    cause = staticmethod(phrases.cause)
    chain = staticmethod(phrases.chain)
    where = staticmethod(phrases.where)
    only_small = staticmethod(phrases.only_small)
    gain = staticmethod(phrases.gain)
    item_saving = staticmethod(phrases.item_saving)
    pressed = staticmethod(verdict_phrases.pressed)
    unit = staticmethod(localize)
    needed = staticmethod(needed)
    advised = staticmethod(verdict_phrases.advised)
    saves = staticmethod(phrases.saves)
    back = staticmethod(phrases.back)
    check = staticmethod(phrases.check)
    origin = staticmethod(phrases.origin_of)
    location = staticmethod(code_places.in_full)
    collect_next = staticmethod(next_captures.collect_next)
    range_ = staticmethod(phrases.range_)
    sol = staticmethod(phrases.sol)
    path = staticmethod(phrases.path)
    tail = staticmethod(phrases.tail)
    titled = staticmethod(phrases.titled)
    device = staticmethod(timeline_phrases.device)
    gap_reason = staticmethod(timeline_phrases.gap_reason)
    frames = staticmethod(frames)
    steps = staticmethod(timeline_phrases.steps)
    ranks = staticmethod(timeline_phrases.ranks)
    kernel_share = staticmethod(timeline_phrases.kernel_share)

    def __init__(self) -> None:
        self.classes = {x: limiter_words(x).name for x in CLASSES}
        self.meanings = {x: limiter_words(x).meaning for x in CLASSES}
        self.bands = dict(BANDS)
        self.gaps = {g.id: g.name for g in GAP_WORDS.values()}


def report(
    b: Bundle, path: Path, write: Write, *, full: bool = False, trusted: bool = False, brief: bool = False
) -> None:
    """Render a diagnosis with a template file. Raises ReportError, with the template's line, for anything wrong in it.

    brief: our own page without script and packed data, for a notebook.
    """
    if trusted:
        _report(b, path, write, full, trusted, brief)
    else:
        confined.run(str(path), lambda out: _report(b, path, out, full, trusted, brief), write)


def _report(b: Bundle, path: Path, write: Write, full: bool, trusted: bool, brief: bool) -> None:
    env = environment(path, trusted)
    s = summary.summarise(b)
    names = context(b, s, full, ours=trusted)
    # only our own page reads it, and packing a large frame takes a while
    if trusted and declared.read(path).escape == "html":
        from triage.rendering.html import page

        names["page"] = page.page(b, s, brief)
    written = 0
    try:
        for chunk in _stream(env, path, names):
            written += len(chunk)
            if written > MAX_TEXT and not trusted:
                raise ReportError(f"{path}: output of the template exceeds {MAX_TEXT:,} characters", "limit its loops")
            write(chunk)
    except ReportError:
        raise
    except jinja2.TemplateSyntaxError as e:
        raise ReportError(f"{e.filename or path}:{e.lineno}: {e.message}", "see docs/templates.md") from e
    except jinja2.TemplateNotFound as e:
        where = f"{path}:{_line(e, path)}"
        raise ReportError(f"{where}: no template {e.name!r} below its folder", "links are not followed") from e
    except UnicodeDecodeError as e:
        raise ReportError(f"{path}: not UTF-8 text", "save the template as UTF-8") from e
    except Exception as e:
        # in our own templates that is a fault of the program, and its traceback is wanted
        if trusted:
            raise
        text = " ".join(str(e).split())[:200] or type(e).__name__
        if isinstance(e, MemoryError):
            text = f"the template takes more than {confined.MEMORY >> 20:,} MB"
        raise ReportError(f"{path}:{_line(e, path)}: {text}", "variables and filters: docs/templates.md") from e


def _line(e: BaseException, path: Path) -> int:
    """Line of the template where an exception came up; Jinja rewrites tracebacks to template lines."""
    line, step = 1, e.__traceback__
    while step is not None:
        # the last one: that is the line that was running, not the block around it
        if Path(step.tb_frame.f_code.co_filename).name == path.name:
            line = step.tb_lineno
        step = step.tb_next
    return line


def render(path: Path, **names: object) -> str:
    """One of the project's own templates with these variables."""
    return environment(path, trusted=True).get_template(path.name).render(names)


def pieces(path: Path, **names: object) -> Iterator[str]:
    """The same in pieces, for output too long for one text."""
    return _stream(environment(path, trusted=True), path, names)


def _stream(env: jinja2.Environment, path: Path, names: Mapping[str, object]) -> Iterator[str]:
    stream = env.get_template(path.name).stream(names)
    stream.enable_buffering(CHUNK_PIECES)  # each piece by itself would cost more to pass on than to make
    return stream


class Below(jinja2.BaseLoader):
    """Loads a template by its own path, and others (`*.j2`) below its folder, through no link."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get_source(self, env: jinja2.Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """See jinja2.BaseLoader."""
        parts = split_template_path(template)
        try:
            if template == self.path.name:
                data = bounded.read(self.path, MAX_BYTES)
            elif not template.endswith(".j2"):
                raise jinja2.TemplateNotFound(template, f"{template}: not a template (*.j2)")
            else:
                data = bounded.read_handle(beneath.open_below(self.path.parent, parts), MAX_BYTES)
        except bounded.TooLarge as e:
            raise jinja2.TemplateNotFound(template, f"{template}: {e}") from None
        except OSError:
            raise jinja2.TemplateNotFound(template) from None
        return data.decode("utf-8"), str(self.path.parent.joinpath(*parts)), lambda: True
