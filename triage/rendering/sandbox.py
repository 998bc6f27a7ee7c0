"""Sandbox for user templates: Jinja's immutable sandbox, which counts every step and every character.

The sandbox keeps a template from the program; the budget keeps it from the machine. Each turn of a loop, each call,
filter and included file is a step, and so is each item that a filter or an operator goes through. What is written, and
every text that is made on the way, counts by its length, before it is made where the length is known.
"""

from __future__ import annotations

import functools
import re
import string
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_STEPS = 10_000_000
MAX_TEXT = 256_000_000  # characters that one report may write, or make on the way
MAX_MADE = 10_000_000  # characters or items of one value
MAX_WIDTH = 1_000_000  # of padding, batches and the like
SECONDS = 20.0  # of a core; for what is slow in few steps, such as comparing long lists again and again
_CALL = 10  # steps that a call takes
_FREE_TEXT_CHARS = 1_000  # characters of a text that costs no more than the step that made it
_WIDTH = re.compile(r"%[^%a-zA-Z]*?(?:\*|\d{5,})")
_TIMES = {"indent", "replace", "wordwrap", "expandtabs", "tojson"}  # may make each character of a text into many
_COUNTED, _JOINED = "counted items", "joined text"  # filters that no template can name


class Budget:
    """What a template may still do."""

    def __init__(self) -> None:
        self.steps, self.characters = MAX_STEPS, MAX_TEXT
        self._began = time.thread_time()

    def step(self, count: int = 1) -> None:
        """Some steps are taken; raises SecurityError where there are none left."""
        before = self.steps
        self.steps -= count
        if self.steps < 0:
            refuse(f"the template takes more than {MAX_STEPS:,} steps")
        if before >> 12 != self.steps >> 12 and time.thread_time() - self._began > SECONDS:
            refuse(f"the template takes more than {SECONDS:.0f} s")

    def write(self, length: int) -> None:
        """Some characters are written or made."""
        self.characters -= length
        if self.characters < 0:
            refuse(f"the template makes more than {MAX_TEXT:,} characters")

    def each(self, items: Any) -> Iterator[object]:
        """The items, each of them a step."""
        for item in items:
            self.step()
            yield item

    def made(self, value: object) -> object:
        """A value that a filter, a call or an operator returned, counted by its size."""
        if isinstance(value, str | bytes):
            if len(value) > _FREE_TEXT_CHARS:
                self.write(len(value))
        elif isinstance(value, list | tuple | dict | set):
            self.step(len(value))
        elif isinstance(value, Iterator) and not isinstance(value, LoopContext):
            return self.each(value)
        return value


def refuse(why: str) -> NoReturn:
    """Ends a template."""
    raise SecurityError(why)


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment for one report of one untrusted template."""

    intercepted_binops = frozenset(["*", "**", "+", "%"])

    def __init__(self, **options: object) -> None:
        self.budget = Budget()
        super().__init__(**options, finalize=self._written)
        self.globals.pop("lipsum")  # text by the paragraph
        self.filters[_COUNTED] = self.budget.each
        self.filters[_JOINED] = self._joined
        self.guard()

    def guard(self) -> None:
        """Count what the filters do; again after some were added."""
        for name, made in self.filters.items():
            if name not in (_COUNTED, _JOINED) and not hasattr(made, "counted"):
                self.filters[name] = self._filter(name, made)

    def _written(self, value: object) -> object:
        self.budget.step()
        if isinstance(value, str):
            self.budget.write(len(value))
        elif not isinstance(value, int | float | jinja2.Undefined) and value is not None:
            value = str(value)
            self.budget.write(len(value))
        return value

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _COUNTED, [], [], None, None, lineno=loop.lineno)
        for old in list(tree.find_all(nodes.Concat)):
            _swap(tree, old, nodes.Filter(nodes.List(old.nodes), _JOINED, [], [], None, None, lineno=old.lineno))
        tree.set_environment(self)
        return tree

    @jinja2.pass_eval_context
    def _joined(self, context: nodes.EvalContext, parts: list[object]) -> str:
        texts = [p if isinstance(p, str) else str(p) for p in parts]
        self.check(sum(map(len, texts)))
        # markup stays markup: only plain parts are texts
        found = [p if hasattr(p, "__html__") else t for p, t in zip(parts, texts, strict=True)]
        text = markup_join(found) if context.autoescape else str_join(found)
        self.budget.made(text)
        return text

    def check(self, size: int) -> None:
        """Refuse a value of a size before it is made."""
        if size > MAX_MADE:
            refuse("the value is too large")

    def _filter(self, name: str, work: Callable[..., object]) -> Callable[..., object]:
        passes = hasattr(work, "jinja_pass_arg")

        @functools.wraps(work)
        def counted(*args: object, **named: object) -> object:
            self.budget.step()
            context, given = args[:passes], [self._given(a) for a in args[passes:]]
            if name == "join" and given:
                given[0] = self._parts(given[0], given[1] if len(given) > 1 else named.get("d", ""), named)
            if name == "format" and given:
                _format(str(given[0]))
            self._bounded(name, given, [*given[1:], *named.values()])
            return self.budget.made(work(*context, *given, **named))

        counted.counted = True  # type: ignore[attr-defined]
        return counted

    def _given(self, value: object) -> object:
        """An argument, whose size is what it costs to look at it."""
        if isinstance(value, str | list | tuple | dict | range):
            self.budget.step(len(value) if not isinstance(value, str) else len(value) // _FREE_TEXT_CHARS)
        elif isinstance(value, Iterator) and not isinstance(value, LoopContext):
            return self.budget.each(value)
        return value

    def _parts(self, items: Any, between: object, named: dict[str, object]) -> list[object]:
        found = list(items)
        if not named.get("attribute"):
            self.check(sum(len(i) if isinstance(i, str) else 20 for i in found) + len(found) * len(str(between)))
        return found

    def _bounded(self, name: str, given: list[object], more: list[object]) -> None:
        widths = [abs(v) for v in more if isinstance(v, int)]
        if max(widths, default=0) > MAX_WIDTH:
            refuse(f"{name}: the width is too large")
        self.budget.step(max(widths, default=0) // _FREE_TEXT_CHARS)
        if name in _TIMES:
            wide = max([1, *widths, *(len(v) for v in more if isinstance(v, str))])
            self.check(wide * (max((len(v) for v in given[:1] if hasattr(v, "__len__")), default=0) + 1))

    def call(__self, __context: Context, __obj: object, *args: object, **named: object) -> object:
        """See SandboxedEnvironment."""
        __self.budget.step(_CALL)
        owner = getattr(__obj, "__self__", None)
        if isinstance(__obj, LoopContext):  # a recursive loop goes on over its first argument
            args = (*map(__self.budget.each, args[:1]), *args[1:])
        elif isinstance(__obj, types.BuiltinMethodType) and not isinstance(owner, types.ModuleType):
            name = __obj.__name__
            if name == "translate":
                refuse("translate is not offered")
            args = tuple(map(__self._given, args))
            if name == "join" and args and isinstance(owner, str):
                args = (__self._parts(args[0], owner, {}),)
            __self._bounded(name, [owner, *args], [*args, *named.values()])
        return __self.budget.made(super().call(__context, __obj, *args, **named))

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Refuse operands whose result would eat the machine."""
        self.budget.step()
        # a number counts by itself: it may be how often the other side is repeated
        sizes = [
            len(v) if isinstance(v, str | bytes | list | tuple) else abs(v) if isinstance(v, int) else 0
            for v in (left, right)
        ]
        plain = all(isinstance(v, int | float) for v in (left, right))
        if operator == "**" and (sizes[1] > 64 or sizes[0] > 1_000_000):
            refuse("the exponent is too large")
        if operator == "*" and sizes[0] * sizes[1] > (MAX_MADE**8 if plain else MAX_MADE // 10):
            refuse("the product is too large")
        if operator == "+" and not plain:
            self.check(sum(sizes))
        if operator == "%" and isinstance(left, str):
            _format(left)
        return self.budget.made(super().call_binop(context, operator, left, right))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """See SandboxedEnvironment; widths in the text are bounded."""
        inner = super().wrap_str_format(value)
        if inner is None:
            return None

        def formatted(*args: object, **named: object) -> str:
            for _, _, spec, _ in string.Formatter().parse(value.__self__):
                if spec and ("{" in spec or re.search(r"\d{5,}", spec)):
                    refuse("the width is too large")
            return inner(*args, **named)

        return formatted

    def get_template(self, *args: Any, **named: Any) -> jinja2.Template:
        """See Environment; a template that includes itself takes steps as well."""
        self.budget.step()
        return super().get_template(*args, **named)

    def select_template(self, *args: Any, **named: Any) -> jinja2.Template:
        """See Environment."""
        self.budget.step()
        return super().select_template(*args, **named)


def _format(text: str) -> None:
    if _WIDTH.search(text):
        refuse("the width is too large")


def _swap(parent: nodes.Node, old: nodes.Node, new: nodes.Node) -> bool:
    """Replace a node by another, anywhere below `parent`."""
    for field, value in parent.iter_fields():
        if value is old:
            setattr(parent, field, new)
            return True
        if isinstance(value, list):
            for i, item in enumerate(value):
                if item is old:
                    value[i] = new
                    return True
    return any(_swap(child, old, new) for child in parent.iter_child_nodes())
