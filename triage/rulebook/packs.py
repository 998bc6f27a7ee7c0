"""All rules in force: the folder is the registry, rules/<pack>/<name>.yaml.

What only the whole can show is checked here: unique names, concepts that somebody concludes, no circles.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from triage.files import cache, tree
from triage.files.bundled import share
from triage.ground.errors import RuleError, TriageError, UnknownUnit
from triage.ground.method import LATEST, REVISIONS
from triage.ground.phrasing import either
from triage.rulebook import pack
from triage.rulebook.applies import FACTS
from triage.rulebook.cause import FAMILIES, Cause
from triage.rulebook.expression import restored
from triage.rulebook.reference import line_of, meant
from triage.rulebook.rule import Rule, quantity
from triage.rulebook.texts import with_numbers

CAUSES = "causes"  # a folder of this name holds no rules, but what they give evidence for (rulebook.causes)
_KNOWLEDGE = tuple(f"triage.rulebook.{m}" for m in ("cause", "expression", "rule"))  # what compiled rules consist of
_COMPILED_BY = ("ground", "schema", "files", "rulebook")  # rooms whose code shapes a compiled rule


class Rulebook(Struct, frozen=True, dict=True):
    """All rules in force, in a total order that does not depend on the order of files."""

    rules: tuple[Rule, ...]
    causes: Mapping[str, Cause] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)  # of files that were read already: path -> SHA-256

    def cause(self, name: str) -> Cause:
        """The cause of an id; a rule of a user's own may stand for a cause of its own name."""
        if name in self.causes:
            return self.causes[name]
        rule = next(r for r in self.rules if r.cause == name)
        return Cause(
            name, next(iter(FAMILIES)), rule.title, rule.summary or rule.title, (), rule.needs, (), (), rule.cites
        )

    @cached_property
    def by_name(self) -> dict[str, Rule]:
        """name -> rule."""
        return {r.name: r for r in self.rules}

    @cached_property
    def path(self) -> dict[str, Rule]:
        """Step of the decision path (a word of PATH) -> the rule whose threshold it compares with."""
        return {step: r for r in self.rules for step in r.path}

    @cached_property
    def settings(self) -> frozenset[str]:
        """Derived facts that say what the work is: a rule overruled by one was never in question."""
        return frozenset(c for r in self.rules if r.setting for c in (r.name, *r.concludes))

    @cached_property
    def sha256(self) -> str:
        """Digest over every rule's and cause's file and every override: names the knowledge a report came from."""
        h = hashlib.sha256()
        for rule in self.rules:
            # the overrides too: a report under --set rests on other knowledge
            h.update(f"{rule.id}\0{self._digest(rule.file)}\0{sorted(rule.overrides.items())}\n".encode())
        for shared in sorted({str(Path(rule.file).parent / pack.FILE) for rule in self.rules}):
            h.update(f"{self._digest(shared)}\n".encode())
        for cause in self.causes.values():
            h.update(f"{cause.id}\0{self._digest(cause.file)}\n".encode())
        return h.hexdigest()

    def _digest(self, file: str) -> str:
        return self.digests.get(file) or _digest(file)

    @cached_property
    def readers(self) -> dict[str, frozenset[str]]:
        """metric -> vendors that the rules which read it are about."""
        out: dict[str, frozenset[str]] = {}
        for rule in self.rules:
            about = frozenset(rule.applies.get("vendor", FACTS["vendor"]))
            for metric in (*rule.needs, *rule.uses):
                out[metric] = out.get(metric, frozenset()) | about
        return out

    def under(self, method: str) -> Rulebook:
        """The same rules, with the numbers of a revision of the method in their texts."""
        return replace(self, rules=tuple(with_numbers(r, method) for r in self.rules))

    def find(self, text: str) -> Rule | None:
        """A rule by id or name, in any case."""
        low = text.lower()
        return next((r for r in self.rules if low in (r.id.lower(), r.name)), None)


def _digest(file: str) -> str:
    """SHA-256 of a file's content, or the path itself where there is no such file."""
    try:
        found = os.stat(file)
        return _hashed(file, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    except OSError:
        return file


@functools.lru_cache(maxsize=4_096)
def _hashed(file: str, *_state: int) -> str:
    """Read once per process and state: to read 500 files takes longer than most diagnoses."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def files(folders: Sequence[Path] = ()) -> list[Path]:
    """Rule files of the bundled packs and of further folders (or single files), each file once.

    Raises TriageError for a folder that is not there, or that holds no rules.
    """
    found: dict[str, Path] = {}
    for base in (share("rules"), *folders):
        if not base.exists():
            raise TriageError(f"{base}: no such file or folder", "check the path")
        inside = below(base)
        if not inside:
            raise TriageError(f"{base}: no rule files", "name them *.yaml, beginning with a letter or digit")
        for path in inside:
            # a bundled rule that is named again is the same rule
            found.setdefault(os.path.realpath(path) if folders else str(path), path)
    return list(found.values())


def below(base: Path) -> list[Path]:
    """A rule file itself, or the rule files of a folder in alphabetical order. Raises TriageError for a whole file system."""
    if base.is_file():
        return [base] if base.resolve().parent.name != CAUSES else []
    try:
        folders = tree.walk(str(base), tree.MAX_FILES)
    except tree.TooMany as e:
        raise TriageError(f"{base}: {e}, not a folder of rules", "check the path") from None
    # hidden files, such as the ._name.yaml that macOS leaves on foreign disks, and drafts set aside by an underscore
    inside = (
        os.path.join(here, name)
        for here, names in folders
        if os.path.basename(here) != CAUSES
        for name in names
        if name.endswith(".yaml") and name[0] not in "._"
    )
    return [Path(p) for p in sorted(inside, key=lambda p: p.split(os.sep))]


def load(folders: Sequence[Path] = (), *, only: Iterable[Path] | None = None, tests: bool = False) -> Rulebook:
    """Read and compile rule files; raises RuleError for the first mistake. tests: keep the embedded tests too."""
    paths = files(folders) if only is None else list(only)
    if tests or cache.folder() is None:  # nothing to name, and nothing to keep
        return build(*_read(paths, tests))
    named = [str(p) for p in paths]
    shared = sorted({os.path.join(os.path.dirname(name), pack.FILE) for name in named})
    made_from = {name: _digest(name) for name in (*named, *shared, *map(str, cause_files()))}
    return _built(tuple(named), tuple(made_from.items()))


@functools.lru_cache(maxsize=2)  # rules never change once built: a process that diagnoses again uses them again
def _built(paths: tuple[str, ...], made_from: tuple[tuple[str, str], ...]) -> Rulebook:
    digests = dict(made_from)
    return build(*_compiled([Path(p) for p in paths], digests), digests)


def _read(paths: Sequence[Path], tests: bool) -> tuple[list[Rule], dict[str, Cause]]:
    from triage.rulebook import cause_reader, rulefile  # and with them a YAML parser, which compiled rules do without

    shared = functools.cache(pack.read)  # one file for all rules of a folder
    return [rule for p in paths for rule in rulefile.read(p, tests, shared)], cause_reader.load(cause_files())


def cause_files() -> list[Path]:
    """The bundled vocabulary of causes, in alphabetical order."""
    return sorted((share("rules") / CAUSES).glob("*.yaml"))


def _compiled(paths: Sequence[Path], made_from: Mapping[str, str]) -> tuple[list[Rule], dict[str, Cause]]:
    """Rules without their tests, and causes; read only when a file or the code that reads them has changed."""
    name = f"rules-{_name(made_from)}"
    if (kept := cache.recall(name)) is not None:
        # a cache that cannot be read back is no error: the rules are read again
        with contextlib.suppress(Exception):
            remembered: tuple[list[Rule], dict[str, Cause]] = _Restricted(io.BytesIO(kept)).load()
            return remembered
    found = _read(paths, tests=False)
    # protocol 5 is the newest that Python 3.11 has; the name carries the Python, so no other reads it
    cache.keep(name, pickle.dumps(found, 5))
    return found


class _Restricted(pickle.Unpickler):
    """Makes rules and causes from a pickle, and nothing else: no name in it leads to a function that does anything."""

    def find_class(self, module: str, name: str) -> Any:
        """See pickle.Unpickler."""
        found = super().find_class(module, name) if module in _KNOWLEDGE and "." not in name else None
        if found is restored or (isinstance(found, type) and issubclass(found, Struct) and found.__module__ == module):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a rule")


def _name(made_from: Mapping[str, str]) -> str:
    package = Path(__file__).parent.parent
    h = hashlib.sha256(cache.stamp(code for room in _COMPILED_BY for code in package.glob(f"{room}/*.py")).encode())
    for path, digest in made_from.items():
        # with the path, since a compiled rule knows its file
        h.update(f"{path}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return h.hexdigest()


def build(
    rules: Iterable[Rule], causes: Mapping[str, Cause] | None = None, digests: Mapping[str, str] | None = None
) -> Rulebook:
    """A Rulebook from compiled rules; checks what only the whole can show. digests: of the files they were read from."""
    # by id within a pack, whatever the disk lists first: reports must not depend on it
    ordered = sorted(rules, key=lambda r: (r.pack, r.id))
    _unique(ordered)
    # a rule's own name is a concept too, so that another can build on it or be overruled by it
    concepts = {c for r in ordered for c in (r.name, *r.concludes)}
    taken: dict[str, Rule] = {}
    for rule in ordered:
        for w in rule.when.values():
            for concept in w.given:
                _declared(rule, concept, concepts, "given")
        for concept in rule.overruled_by:
            _declared(rule, concept, concepts, "overruled_by")
        for alike in rule.tell_apart:
            _declared(rule, alike.rule, {r.name for r in ordered}, "tell_apart")
        for step in rule.path:
            if (other := taken.setdefault(step, rule)) is not rule:
                line = line_of(rule.file, "path", step, after=rule.line)
                raise RuleError(rule.file, line, f"path: {step!r} is taken by {other.file}", "keep one of them")
    # for both revisions: a circle that only one of them has must not wait for its first user
    layers(ordered, REVISIONS[0])
    layers(ordered, REVISIONS[1])
    return Rulebook(tuple(ordered), causes or {}, digests or {})


def select(
    book: Rulebook,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    sets: Sequence[str] = (),
    experimental: bool = False,
) -> Rulebook:
    """The rules of --select / --ignore (ids, names, packs) with --set applied.

    Rules that only conclude concepts stay, so that what is kept still has its premises. Raises TriageError for
    words that match nothing.
    """

    def hits(rule: Rule, words: set[str]) -> bool:
        return bool(words & {rule.id.lower(), rule.name, rule.pack})

    for words in (keep, drop):
        for word in words:
            if not any(hits(r, {word.lower()}) for r in book.rules):
                raise TriageError(f"unknown rule or pack {word!r}", "see: triage list rules")
    kept, dropped = {w.lower() for w in keep}, {w.lower() for w in drop}
    chosen = [r for r in book.rules if experimental or r.status != "experimental"]
    muted = {r.name for r in chosen if (kept and not hits(r, kept)) or hits(r, dropped)}
    # a muted rule may still be a premise: it keeps concluding, it only reports nothing
    rules = [replace(r, finding="", gain=None, rules_out="", written=None) if r.name in muted else r for r in chosen]
    for text in sets:
        target, eq, given = text.partition("=")
        name, dot, threshold = target.partition(".")
        rule = next((r for r in rules if name.lower() in (r.id.lower(), r.name)), None)
        if not eq or not dot or rule is None or threshold not in rule.thresholds:
            raise _no_threshold(text, rule, name, threshold if eq and dot else "")
        try:
            number, unit = quantity(given)
        except (ValueError, UnknownUnit) as e:
            raise TriageError(f"--set {text!r}: {e}", "write a number with its unit, such as 80%") from None
        # `--set x.low=70` without the % would be a threshold of 7,000 %
        if unit != rule.thresholds[threshold].unit:
            raise TriageError(f"--set {text!r}: expected a {rule.thresholds[threshold].unit}, not a {unit}")
        changed = replace(rule, overrides={**rule.overrides, threshold: number})
        rules[rules.index(rule)] = with_numbers(changed, LATEST)
    return Rulebook(tuple(rules), book.causes, book.digests)


def _no_threshold(text: str, rule: Rule | None, name: str, threshold: str) -> TriageError:
    if not threshold:
        return TriageError(f"--set {text!r}: expected RULE.threshold=VALUE")
    if rule is None:
        return TriageError(f"--set: unknown rule {name!r}", "see: triage list rules")
    hint = f"choose {either(rule.thresholds)}" if rule.thresholds else "it has none"
    return TriageError(f"--set: {rule.id} ({rule.name}) has no threshold {threshold!r}", hint)


def layers(rules: Sequence[Rule], method: str) -> list[list[Rule]]:
    """Rules in layers: a rule stands after everything that concludes what it is given. Raises RuleError on a cycle."""
    makers: dict[str, list[Rule]] = {}
    for r in rules:
        for c in (r.name, *r.concludes):
            makers.setdefault(c, []).append(r)
    level: dict[str, int] = {}
    path: list[str] = []

    def depth(rule: Rule) -> int:
        if rule.name in level:
            return level[rule.name]
        # still without a level and met again on the way down: it builds on itself
        if rule.name in path:
            circle = [*path[path.index(rule.name) :], rule.name]
            raise RuleError(rule.file, rule.line, f"concepts run in a circle: {' -> '.join(circle)}")
        path.append(rule.name)
        when = rule.when.get(method)
        below = [depth(m) for c in (when.given if when else ()) for m in makers[c]]
        path.pop()
        level[rule.name] = 1 + max(below, default=-1)
        return level[rule.name]

    out: dict[int, list[Rule]] = {}
    for r in rules:
        out.setdefault(depth(r), []).append(r)
    return [out[k] for k in sorted(out)]


def _unique(rules: Sequence[Rule]) -> None:
    for key in ("id", "name"):
        seen: dict[str, Rule] = {}
        for r in rules:
            other = seen.setdefault(getattr(r, key), r)
            if other is not r:
                problem = f"{key} {getattr(r, key)!r} is taken by {other.file}"
                raise RuleError(r.file, r.line, problem, f"choose another {key}")


def _declared(rule: Rule, name: str, known: set[str], where: str) -> None:
    if name not in known:
        line = line_of(rule.file, where if where != "given" else "when", name, after=rule.line)
        raise RuleError(rule.file, line, f"{where}: unknown derived fact {name!r}", meant(name, known))
