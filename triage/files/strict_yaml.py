"""Reading YAML that may come from strangers: plain data only, every key once, bounded, with line numbers.

No tags, no anchors (so no alias bombs), no objects; dates stay text. Errors are RuleErrors with file:line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from triage.ground.errors import RuleError

MAX_BYTES, MAX_DEPTH, MAX_NODES = 65_536, 12, 5_000
_OPENING = re.compile(r"[\[{]|[-?:] ")  # what can open a level without a line and an indentation of its own
_SAFE = 1_000  # levels that libyaml's recursion bears by far; 65,536 bytes of indentation are 362
# Without libyaml the same in Python. Text only: what a plain scalar means is decided below.
_Loader: type[yaml.CBaseLoader] | type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# What a terminal would obey or what turns the reading direction has no place in the texts of a rule.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\Z")
_WORDS = {
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
    "on": True,
    "off": False,
    "null": None,
    "~": None,
    "": None,
}


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
        if path.stat().st_size > MAX_BYTES:
            raise RuleError(name, 1, f"larger than {MAX_BYTES >> 10} KiB", "one rule is one short file")
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise RuleError(name, 1, "is not UTF-8 text") from None
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
        if len(_OPENING.findall(text)) > _SAFE and _too_deep(text):
            raise RuleError(name, 1, "nested too deeply or too large")
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else 1
        raise RuleError(name, line, f"not valid YAML ({e.problem or e.context or 'syntax'})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        raise RuleError(name, 1, f"not valid YAML ({str(e).splitlines()[0]})") from None
    finally:
        loader.dispose()
    if not isinstance(node, yaml.MappingNode):
        raise RuleError(name, 1, "a rule file is one mapping", "start with `id:`")
    out = _Walk(name).plain(node, 0)
    assert isinstance(out, Mapping)
    return out


def _too_deep(text: str) -> bool:
    """By events, which need no recursion: as nodes, 30,000 nested brackets overflow the stack of libyaml's wrapper."""
    loader, depth = _Loader(text), 0
    try:
        while (event := loader.get_event()) is not None and depth <= MAX_DEPTH:
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
    finally:
        loader.dispose()
    return depth > MAX_DEPTH


class _Walk:
    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: set[int] = set()
        self.count = 0

    def plain(self, node: yaml.Node, depth: int) -> object:
        line = node.start_mark.line + 1
        self.count += 1
        if id(node) in self.seen:
            raise RuleError(self.name, line, "anchors and aliases are not used in rules", "write the value out")
        self.seen.add(id(node))
        if depth > MAX_DEPTH or self.count > MAX_NODES:
            raise RuleError(self.name, line, "nested too deeply or too large")
        if not node.tag.startswith("tag:yaml.org,2002:") or node.tag[18:] not in ("str", "seq", "map", "null"):
            raise RuleError(self.name, line, f"tag {node.tag} is not allowed", "plain values only")
        if isinstance(node, yaml.ScalarNode):
            if found := _CONTROL.search(node.value):
                raise RuleError(
                    self.name, line, f"control character U+{ord(found[0]):04X} in a text", "plain text only"
                )
            return node.value if node.style else _plain(node.value)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(v, depth + 1) for v in node.value]
        assert isinstance(node, yaml.MappingNode)
        out = Mapping()
        out.line, out.lines = line, {}
        for key_node, value_node in node.value:
            at = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise RuleError(self.name, at, "keys are plain text")
            key = str(key_node.value)
            if key in out:
                raise RuleError(self.name, at, f"key {key!r} stands twice", "keep one of them")
            out.lines[key] = at
            out[key] = self.plain(value_node, depth + 1)
        return out


def _plain(text: str) -> str | float | bool | None:
    """An unquoted scalar: a number, true/false, nothing, or text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) < 400 and _NUMBER.match(text):
        return float(text) if set(text) & set(".eE") else int(text)
    return text
