"""Kernel and marker names as people read them; the full name is always kept beside.

`void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, ...>(int, T1, T2)` becomes
`vectorized_elementwise_kernel<4, AddFunctor>`: return type, parameters and namespaces go, template arguments shrink.
"""

from __future__ import annotations

import re
from functools import lru_cache

WIDTH = 60
_IS_CPP = re.compile(
    r"\w::\w|^void |\w<.*>|\w\((?:[^()]*[*&][^()]*|(?:unsigned|const|int|float|double|long|char|bool|size_t)\b[^()]*)\)\s*$"
)
_NOISE = re.compile(r"\s*(?:\[clone [^\]]*\]|\(\.kd\)|\.kd\b)\s*\Z")
_ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>|\(anonymous\)")
_LAMBDA = re.compile(r"\[?lambda\([^()]*\)[^,>\])]*\]?|\{lambda\([^()]*\)#?\d*\}")


@lru_cache(maxsize=65_536)
def short(name: str, width: int = WIDTH) -> str:
    """A name cut to what tells it from its neighbours, at most `width` characters, without control characters."""
    text = "".join(c if c.isprintable() else " " for c in name[:4096])
    text = " ".join(_NOISE.sub("", text).split())
    if _IS_CPP.search(text):
        text = _cpp(text)
    return text if len(text) <= width else f"{text[: width - 9]}\u2026{text[-8:]}"


def _cpp(text: str) -> str:
    text = _LAMBDA.sub("lambda", _ANONYMOUS.sub("anon", text))
    head = _without_parameters(text)
    depth, start = 0, 0
    for i, c in enumerate(head):  # what stands before the last space outside brackets is the return type
        depth += (c in "<([") - (c in ">)]")
        if c == " " and depth == 0:
            start = i + 1
    token = head[start:] or head
    cut = token.find("<")
    base, arguments = (token, "") if cut <= 0 else (token[:cut], token[cut:])
    base = base.rpartition("::")[2] or base
    inner = _arguments(arguments)
    return f"{base}<{inner}>" if inner else base


def _without_parameters(text: str) -> str:
    """The text before the parameter list that ends it."""
    if not text.endswith((")", ") const")):
        return text
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if text[i] == "(" and depth == 0:
            return text[:i].rstrip() or text
    return text


def _arguments(text: str) -> str:
    """The first two template arguments, without namespaces and their own arguments."""
    depth, parts, current = 0, [], ""
    for c in text:
        if c == "<":
            depth += 1
            continue
        if c == ">":
            depth -= 1
            continue
        if depth == 1:
            if c == ",":
                parts.append(current)
                current = ""
            else:
                current += c
    parts.append(current)
    clean = [re.sub(r"^\((?:\w+)\)", "", p.strip()).rpartition("::")[2].strip() for p in parts]
    kept = [p for p in clean if p][:2]
    return ", ".join(kept) + (", \u2026" if len([p for p in clean if p]) > 2 and kept else "")
