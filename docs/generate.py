"""The pages rules, method, causes, metrics, cli, capturing, glossary and guide, made from the program itself.

    python docs/generate.py [FOLDER]     (make docs; into docs/ unless a folder is named)

No page is kept in git: `make site` has mkdocs take them from here (`on_files`).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from triage import dialects, schema
from triage.commands import cli
from triage.commands._describe import better, exported_as, quantity, source
from triage.derive import derivations
from triage.findings import guide
from triage.ground import glossary
from triage.ground.method import NUMBERS, REVISIONS, stated
from triage.rulebook import packs
from triage.rulebook.applies import describe
from triage.rulebook.cause import Cause
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import GainModel, Rule, When

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Made by docs/generate.py, not kept in git. -->\n"
NAMES = 4  # foreign names shown per tool


def code(text: str) -> str:
    """Inline code, whatever it holds."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def plain(text: str) -> str:
    """Prose that must not turn into markup."""
    return re.sub(r"([*_<>|\[\]`])", r"\\\1", " ".join(text.split()))


def cell(text: str) -> str:
    """A table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def link(text: str, url: str) -> str:
    """A source, with its address where there is one."""
    return f"[{plain(text)}]({url})" if url else plain(text)


def rules() -> str:
    """One section per rule, packs in alphabetical order; the anchor of a section is the rule's id in lower case."""
    book = packs.load()
    by_pack: dict[str, list[Rule]] = {}
    for rule in book.rules:
        by_pack.setdefault(rule.pack, []).append(rule)
    said = sum(not r.is_concept for r in book.rules)
    out = [NOTE, "# Rules\n", f"{said} rules that report something and {len(book.rules) - said} concepts they build on, in {len(by_pack)} packs. "
           "`triage explain ID` prints the same; `triage explain ID --on FILE` shows why a rule speaks or keeps silent.\n"]  # fmt: skip
    for pack, members in by_pack.items():
        out.append(f"- [{pack}](#pack-{pack}): {len(members)}")
    for pack, members in by_pack.items():
        out += [f'\n## <a id="pack-{pack}"></a>Pack {pack}\n', "| id | name | what it says |", "| --- | --- | --- |"]
        out += [f"| [{r.id}](#{r.id.lower()}) | {r.name} | {cell(plain(r.title))} |" for r in members]
        for rule in members:
            out += ["", *_rule(rule, book)]
    return "\n".join(out) + "\n"


def _rule(rule: Rule, book: Rulebook) -> Iterator[str]:
    yield f'### <a id="{rule.id.lower()}"></a>{rule.id} {rule.name}\n'
    yield f"**{plain(rule.title)}.** {plain(rule.summary)}\n"
    yield f"{'Concept' if rule.is_concept else 'Rule'}, {rule.status} since {rule.since}, scope {rule.scope}; applies to: {describe(rule.applies)}.\n"
    if rule.finding:
        yield f"> {plain(rule.finding)}\n"
    yield from _when(rule)
    for name, e in rule.let.items():
        yield f"- where {code(name)} = {code(e.text)}"
    if rule.thresholds:
        yield "\n| threshold | value | why |\n| --- | --- | --- |"
        for t in rule.thresholds.values():
            yield f"| {code(t.name)} | {quantity(t)} | {cell(plain(source(rule, t)))} |"
    if rule.gain:
        yield from _gain(rule.gain)
    if rule.advice:
        yield "\nAdvice:\n"
    for a in rule.advice:
        yield (
            f"- {plain(a.text)}"
            + (f" *(only if {code(a.only_if.text)})*" if a.only_if else "")
            + (f" *({describe(a.where)})*" if a.where else "")
        )
        if a.code:
            yield f"\n  ```{a.language}\n" + "\n".join(f"  {line}" for line in a.code.splitlines()) + "\n  ```\n"
    if rule.verify:
        yield f"\nIt worked if: {plain(rule.verify)}"
    for c in rule.caveats:
        yield f"\nDoes not apply: {plain(c.text)}" + (f" *({describe(c.where)})*" if c.where else "")
    for other in rule.tell_apart:
        yield f"\nTold apart from {_link(other.rule, book)} by {code(other.by)}: {plain(other.how)}"
    if rule.concludes:
        yield "\nConcludes " + ", ".join(code(c) for c in rule.concludes) + "."
    if rule.overruled_by:
        yield "\nOverruled by " + ", ".join(_link(c, book) for c in rule.overruled_by) + "."
    if rule.cites:
        yield "\nSources: " + "; ".join(link(c.text, c.url) for c in rule.cites) + "."


def _link(name: str, book: Rulebook) -> str:
    """A rule or concept, linked to the first rule that concludes it."""
    maker = next((r for r in book.rules if name in (r.name, *r.concludes)), None)
    return f"[{name}](#{maker.id.lower()})" if maker else code(name)


def _gain(g: GainModel) -> Iterator[str]:
    """The effect of a cure, as the gain model reads it."""
    parts = [f"{code(d.unit)} keeps {code(d.likely.text)} of its demand" for d in g.remains if d.likely.text != "1"]
    parts += [f"likely {code(g.time.text)} of the time"] if g.time is not None else []
    parts += [f"at most {code(g.best.text)}"] if g.best is not None else []
    parts.append("bounded by the units that stay busy")
    yield f"\nGain: {', '.join(parts)}; {plain(g.because)} (evidence: {g.evidence}, confidence {g.confidence})."


def _when(rule: Rule) -> Iterator[str]:
    texts = {m: "; ".join(_terms(w)) for m, w in rule.when.items()}
    if len(set(texts.values())) == 1:
        yield f"When {next(iter(texts.values()))}.\n"
    else:
        for method, text in texts.items():
            yield f"When (method {method}) {text}.\n"


def _terms(when: When) -> Iterator[str]:
    if when.given:
        yield "given " + " and ".join(code(g) for g in when.given)
    if when.all_of:
        yield "all of " + ", ".join(code(c.text) for c in when.all_of)
    if when.any_of:
        yield "any of " + ", ".join(code(c.text) for c in when.any_of)


def metrics() -> str:
    """Every canonical metric by the first part of its id."""
    tools, derived = exported_as(), derivations()
    out = [
        NOTE,
        "# Metrics\n",
        "Canonical ids that rules and reports use, and the names tools give them. A column of a custom table may be named by its id.\n",
    ]
    groups: dict[str, list[schema.Metric]] = {}
    for m in schema.all_metrics().values():
        groups.setdefault(m.id.partition(".")[0], []).append(m)
    for group in sorted(groups):
        out.append(f"\n## {group}\n")
        for m in groups[group]:
            out.append(
                f'### <a id="{m.id}"></a>{code(m.id)}\n\n{plain(m.label)}: {plain(m.meaning)}. Unit: {m.unit}; {better(m.better)}.\n'
            )
            if m.id in derived:
                out.append(f"- computed where not exported: {code(derived[m.id].formula)}")
            same: dict[tuple[str, ...], list[str]] = {}
            for tool, names in sorted(tools.get(m.id, {}).items()):
                if tool != "generic":
                    same.setdefault(tuple(names), []).append(tool)
            for spelled, who in same.items():
                more = f" and {len(spelled) - NAMES} more" if len(spelled) > NAMES else ""
                out.append(f"- {', '.join(who)}: " + ", ".join(code(n) for n in spelled[:NAMES]) + more)
            out.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def commands() -> str:
    """Help of every verb, as `--help` prints it."""
    out = [
        NOTE,
        "# Command line\n",
        "Exit codes: 0 done, 1 a `--fail-on` level or regression was reached or a check failed, 2 could not do it.\n",
    ]
    root = click.Context(
        cli.triage,
        info_name="triage",
        terminal_width=100,
        max_content_width=100,
        help_option_names=["-h", "--help"],
    )
    out.append(f"```\n{cli.triage.get_help(root)}\n```\n")
    for verb in cli.VERBS:
        try:
            command = cli.triage.get_command(root, verb)
        except ModuleNotFoundError:
            continue
        if command is not None:
            context = click.Context(command, info_name=verb, parent=root, terminal_width=100, max_content_width=100)
            out.append(f"## triage {verb}\n\n```\n{command.get_help(context)}\n```\n")
            for name, below in sorted(getattr(command, "commands", {}).items()):
                inner = click.Context(below, info_name=name, parent=context, terminal_width=100, max_content_width=100)
                out.append(f"### triage {verb} {name}\n\n```\n{below.get_help(inner)}\n```\n")
    return "\n".join(out).rstrip() + "\n"


def capturing() -> str:
    """How to make an export with each tool."""
    out = [
        NOTE,
        "# Capturing\n",
        "What can be read, and how to make such an export. `triage facts FILE` shows what was understood.\n",
    ]
    table = dialects.dialects()
    out += [f"- [{d.TITLE}](#{name})" for name, d in table.items()]
    for name, d in table.items():
        out.append(f'\n## <a id="{name}"></a>{d.TITLE}\n\nDialect {code(name)}.\n\n{d.CAPTURE.strip()}')
    return "\n".join(out) + "\n"


def causes() -> str:
    """One section per cause, by family; the anchor is the cause's id."""
    book = packs.load()
    out = [NOTE, "# Causes\n", f"{len(book.causes)} causes: what can be wrong with a workload, in one word each. Rules give evidence for them; a cause "
           "that explains others is shown as their root. `triage explain CAUSE` prints an entry, `triage list causes` all of them.\n"]  # fmt: skip
    families: dict[str, list[Cause]] = {}
    for c in book.causes.values():
        families.setdefault(c.family, []).append(c)
    for family, members in families.items():
        out += [f"\n## {family.capitalize()}\n", "| cause | what is wrong |", "| --- | --- |"]
        out += [f"| [{c.id}](#{c.id}) | {cell(plain(c.title))} |" for c in members]
    for c in book.causes.values():
        out += [f'\n### <a id="{c.id}"></a>{c.id}\n', f"**{plain(c.title)}.** {plain(c.meaning)}\n"]
        links = [f"[{e.cause}](#{e.cause})" + (f" (where `{e.when.text}`)" if e.when else "") for e in c.explains]
        if links:
            out.append("Explains: " + ", ".join(links) + ".\n")
        spoken = [f"[{r.id}](rules.md#{r.id.lower()})" for r in book.rules if r.cause == c.id]
        out.append("Evidence: " + (", ".join(spoken) or "none yet; no rule names it") + ".\n")
        if c.decides:
            out.append("Decided by: " + ", ".join(f"`{m}`" for m in c.decides) + ".\n")
        out += [f"- looks like [{x.cause}](#{x.cause}); `{x.by}` decides: {plain(x.how)}" for x in c.confused_with]
        out.append("")
        for a in c.advice:
            out.append(f"- {plain(a.text)}" + (f" ({describe(a.where)})" if a.where else ""))
        out.append("\nSources: " + "; ".join(link(x.text, x.url) for x in c.cites) + ".\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def coverage() -> str:
    """NVIDIA's Compute Triage Guide, check by check, with the rules that ask it and what they ask."""
    by_name = {r.name: r for r in packs.load().rules}
    checks = [c for d in guide.decisions() for c in d.checks]
    file = HERE.parent / "triage" / "findings" / "guide.toml"
    symptoms = [guide.check_from(s) for s in tomllib.loads(file.read_text("utf-8"))["symptom"]]
    asked = sum(bool(c.rules) for c in (*checks, *symptoms))
    out = [NOTE, "# The Compute Triage Guide, as rules\n",
           f"NVIDIA's guide (Nsight Compute 2026.3) has {len(checks)} checks in {len(guide.decisions())} decisions and {len(symptoms)} symptom "
           f"pages; {asked} of them are asked by rules here, the others say what answers instead. `triage explain guide --on FILE` walks a "
           "kernel through them.\n"]  # fmt: skip
    for d in guide.decisions():
        out += [
            f"\n## {d.id} {plain(d.ask)}\n",
            "| check | asks | rules | metrics | limits |",
            "| --- | --- | --- | --- | --- |",
        ]
        out += [_covered(c, by_name) for c in d.checks]
    out += ["\n## Symptom pages\n", "| page | about | rules | metrics | limits |", "| --- | --- | --- | --- | --- |"]
    out += [_covered(c, by_name) for c in symptoms]
    return "\n".join(out) + "\n"


def _covered(c: guide.Check, by_name: dict[str, Rule]) -> str:
    rules = [by_name[name] for name in c.rules]
    metrics = list(dict.fromkeys(m for r in rules for m in r.needs))
    limits = list(
        dict.fromkeys(
            f"{t.name.replace('_', ' ')} {quantity(t)}" for r in rules for t in r.thresholds.values() if t.cite
        )
    )
    links = ", ".join(f"[{r.name}](rules.md#{r.id.lower()})" for r in rules)
    said = "; ".join(x for x in (links, plain(c.instead)) if x)
    shown = ", ".join(code(m) for m in metrics[:8]) + (" ..." if len(metrics) > 8 else "")
    return f"| {c.id} | {cell(plain(c.ask))} | {cell(said)} | {cell(shown)} | {cell(plain('; '.join(limits[:6])))} |"


def words() -> str:
    """The glossary."""
    out = [NOTE, "# Glossary\n", "`triage explain TERM` prints an entry.\n"]
    for e in glossary.entries():
        out.append(f'\n## <a id="{_anchor(e.term)}"></a>{plain(e.term)}\n\n{plain(e.meaning)}\n')
        if e.names:
            out.append("Called: " + "; ".join(f"{who} {plain(names)}" for who, names in e.names) + ".\n")
        if e.see:
            out.append("See also: " + ", ".join(f"[{plain(s)}](#{_anchor(s)})" for s in e.see) + ".\n")
        if e.cites:
            out.append("Sources: " + "; ".join(link(text, url) for text, url in e.cites) + ".\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def method() -> str:
    """Every branch of the article, per revision, with what carries it (branches.toml)."""
    book = packs.load()
    of = {r.id: r for r in book.rules}
    out = [NOTE, "# The method, branch by branch\n",
           "Every branch of NVIDIA's Peak-Performance-Percentage Analysis Method and what carries it here. Its first revision (May 2018) is "
           "`--method v1`, its second (November 2018) `--method v2`, the default. The numbers are those of "
           "`triage/ground/method.py`; a rule's other thresholds stand beside it in [rules.md](rules.md).\n",
           "| step | what the article says | first revision | second revision |", "| --- | --- | --- | --- |"]  # fmt: skip
    for b in tomllib.loads((HERE / "branches.toml").read_text("utf-8"))["branch"]:
        cells = []
        for revision in REVISIONS:
            found = [of[i] for i in b.get("rules", ()) if revision in of[i].when]
            links = ", ".join(f"[{r.id}](rules.md#{r.id.lower()}) {r.name}" for r in found)
            cells.append((links or b.get("carried", "")) if revision in b["revisions"] else "not in it")
        out.append(f"| {b['step']} | {cell(plain(stated(b['says'])))} | {cell(cells[0])} | {cell(cells[1])} |")
    out += [
        "\n## Its numbers\n",
        "| name | first | second | section | what it separates |",
        "| --- | --- | --- | --- | --- |",
    ]
    out += [
        f"| {code(name)} | {n.v1 * 100:g} % | {n.v2 * 100:g} % | {n.section} | {plain(n.says)} |"
        for name, n in NUMBERS.items()
    ]
    return "\n".join(out) + "\n"


def _anchor(term: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", term.lower().replace("%", " pct")).strip("-")


PAGES: dict[str, Callable[[], str]] = {
    "rules": rules,
    "method": method,
    "causes": causes,
    "metrics": metrics,
    "cli": commands,
    "capturing": capturing,
    "glossary": words,
    "guide": coverage,
}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to a site (a hook of mkdocs), fresh ones in place of any that `make docs` wrote."""
    from mkdocs.structure.files import File

    for name, make in PAGES.items():
        if old := files.get_file_from_path(f"{name}.md"):
            files.remove(old)
        files.append(File.generated(config, f"{name}.md", content=make()))
    return files


def main(args: list[str]) -> int:
    """Write the pages."""
    if len(args) > 1 or any(a.startswith("-") for a in args):
        sys.stderr.write("usage: python docs/generate.py [FOLDER]\n")
        return 2
    folder = Path(args[0]) if args else HERE
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (folder / f"{name}.md").write_text(make(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
