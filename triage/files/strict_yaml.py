"""Reading YAML that may come from strangers: plain data only, every key once, bounded, with line numbers.

No tags, no anchors (so no alias bombs), no objects; dates stay text. Errors are RuleErrors with file:line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from triage.files import bounded
from triage.ground.errors import RuleError, TriageError

MAX_BYTES, MAX_DEPTH, MAX_NODES = 65_536, 12, 5_000
_TOO_DEEP = "nested too deeply or too large"
_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map", "null"))
# Without libyaml the same in Python. Text only: what a plain scalar means is decided below.
_Loader: type[yaml.CBaseLoader] | type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# Terminal controls and characters that reverse the reading direction are refused in the texts of a rule.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\Z")
_TRUTH = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(("false", "no", "off"), False)
_WORDS = _TRUTH | dict.fromkeys(("null", "~", ""))


class Mapping(dict[str, Any]):
    """A dict that knows the line of the mapping and of each key; its values are text, numbers, truth, nothing, lists
    of these and further Mappings."""

    line: int = 0
    lines: dict[str, int]


def load(path: Path, skip: str = "") -> Mapping:
    """The file's top mapping; raises RuleError with the path and a line.

    skip: a top-level key whose block is not even parsed. A rule's tests are a third of its text, and only `triage
    check` reads them.
    """
    name = str(path)
    try:
        text = bounded.read(path, MAX_BYTES).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except bounded.TooLarge:
        raise RuleError(name, 1, f"larger than {MAX_BYTES >> 10} KiB", "keep one rule per file") from None
    except UnicodeDecodeError:
        raise RuleError(name, 1, "not UTF-8 text", "save it as UTF-8") from None
    except FileNotFoundError:
        raise TriageError(f"{name}: no such file", "check the path") from None
    except OSError as e:
        raise RuleError(name, 1, f"cannot be read ({e.strerror or e})") from e
    return loads(re.sub(rf"^{skip}:.*?(?=^[^\s#-]|\Z)", _blank, text, flags=re.M | re.S) if skip else text, name)


def _blank(block: re.Match[str]) -> str:
    """As many empty lines, so that later line numbers stay right."""
    return "\n" * block[0].count("\n")


def loads(text: str, name: str) -> Mapping:
    """The same from text; raises RuleError with `name` and a line."""
    loader = _Loader(text)
    try:
        return _Events(name, loader).document()
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else 1
        if "nesting depth" in (e.problem or ""):  # libyaml's own bound, of PyYAML 6.0.4 on
            raise RuleError(name, line, _TOO_DEEP) from None
        raise RuleError(name, line, f"not valid YAML ({e.problem or e.context or 'syntax'})") from None
    except (yaml.YAMLError, ValueError) as e:
        raise RuleError(name, 1, f"not valid YAML ({str(e).splitlines()[0]})") from None
    finally:
        loader.dispose()


class _Events:
    """Plain data from the parser's events: 30,000 nested brackets overflow the stack of libyaml's wrapper as nodes."""

    def __init__(self, name: str, loader: yaml.CBaseLoader | yaml.BaseLoader) -> None:
        self.name = name
        self.next: Callable[[], Any] = loader.get_event  # its stubs know no event's fields
        self.count = 0

    def document(self) -> Mapping:
        """The one mapping that a file consists of."""
        self.next()  # the stream begins
        top = self.next() if isinstance(self.next(), yaml.DocumentStartEvent) else None
        if not isinstance(top, yaml.MappingStartEvent):
            raise RuleError(self.name, 1, "not a mapping", "write lines of `key: value`")
        self.untagged(top)
        out = self.mapping(top, 0)
        self.next()  # the document ends
        if not isinstance(more := self.next(), yaml.StreamEndEvent):
            raise RuleError(self.name, more.start_mark.line + 1, "not valid YAML (but found another document)")
        return out

    def plain(self, event: Any, depth: int) -> object:
        self.count += 1
        if isinstance(event, yaml.AliasEvent):
            raise self.wrong(event, "anchors and aliases are not allowed", "write the value out")
        if depth > MAX_DEPTH or self.count > MAX_NODES:
            raise self.wrong(event, _TOO_DEEP)
        self.untagged(event)
        if isinstance(event, yaml.ScalarEvent):
            value: str = event.value
            if found := _CONTROL.search(value):
                raise self.wrong(event, f"control character U+{ord(found[0]):04X} in a text", "plain text only")
            return value if event.style else _plain(value)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(item := self.next(), yaml.SequenceEndEvent):
                items.append(self.plain(item, depth + 1))
            return items
        return self.mapping(event, depth)

    def mapping(self, event: Any, depth: int) -> Mapping:
        out = Mapping()
        out.line, out.lines = event.start_mark.line + 1, {}
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            at, key = event.start_mark.line + 1, getattr(event, "value", None)
            if key is None:
                raise self.wrong(event, "keys are plain text")
            self.untagged(event)
            if key in out:
                raise self.wrong(event, f"duplicate key {key!r}", "keep one of them")
            out.lines[key] = at
            out[key] = self.plain(self.next(), depth + 1)
        return out

    def untagged(self, event: Any) -> None:
        """Refuse what asks for another type than it has."""
        if event.tag is not None and event.tag != "!" and event.tag not in _TAGS:
            raise self.wrong(event, f"tag {event.tag} is not allowed", "plain values only")

    def wrong(self, event: Any, problem: str, hint: str = "") -> RuleError:
        return RuleError(self.name, event.start_mark.line + 1, problem, hint)


def _plain(text: str) -> str | float | bool | None:
    """An unquoted scalar: a number, true/false, nothing, or text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) < 400 and _NUMBER.match(text):
        return float(text) if set(text) & set(".eE") else int(text)
    return text
