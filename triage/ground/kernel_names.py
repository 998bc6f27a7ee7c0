"""Kernel names as people read them; the full name is always kept beside.

`void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, ...>(int, T1, T2)` becomes
`vectorized_elementwise_kernel<4, AddFunctor, …>`: return type, parameters and namespaces go, template arguments shrink
to the first two that tell it from its neighbours.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>|\(anonymous\)")
# `[lambda(int) (instance 1)]`, `{lambda(int)#1}`: compilers differ, and a comma within parts no arguments
_LAMBDA = re.compile(r"\[?lambda\([^()]*\)(?:\s*\(instance \d+\))?[^,>\])]*\]?|\{lambda\([^()]*\)#?\d*\}")
_INSTANCE_RE = re.compile(r"instance (\d{1,4})")
_NUMBER_RE = re.compile(r"(?<=lambda)#\d+")
# pointers, references or C's own types: `GBuffer (opaque)` and `DrawIndexed(6)` have brackets and are no functions
_PARAMETERS = r"\((?:[^()]*[*&][^()]*|(?:unsigned|const|int|float|double|long|char|bool|size_t)\b[^()]*)\)\s*$"
# `tile<(int)128, (bool)0>`: demanglers write the type before each constant
_CAST = re.compile(r"(?<=[<, ])\(\w[\w: ]*\)(?=-?\d)")
# a return type with conditions, whose `>` need not be brackets: `std::enable_if<(8)>(0), void>::type f<8>(int)`
_CONDITION_RE = re.compile(r"^(?:\w+::)*enable_if<.*?>::type (?=\w+(?:::\w+)*[<(])")
_IS_CPP = re.compile(rf"\w::\w|^void |\w<.*>|\w{_PARAMETERS}")
_ENTERED_RE = re.compile(r"I(?:Li\d{1,4}E)?NS_(\d{1,4})")  # `ck_tile::kentry<1, Rmsnorm2dFwd<...>>` enters any kernel
_INSTANCE_OF_RE = re.compile(r"<[\d, …]{1,200}>$| lambda \d{1,4}$")
_ONE_LAMBDA_RE = re.compile(r"\w+ lambda \d{1,4}")
_LENGTH_RE = re.compile(r"\d{1,4}(?!\d)")
COLLECTIVE = re.compile(
    r"\b(?:nccl|rccl)|nccl(?:Dev)?Kernel|rcclKernel|msccl|oneccl|nvshmem|rocshmem|cross_device_reduce|multimem_all_reduce|(?:one|two)_shot_all_reduce",
    re.IGNORECASE,
)


def is_collective(kernel: str) -> bool:
    """True for a kernel in which devices wait for each other (NCCL, RCCL and their like)."""
    return COLLECTIVE.search(kernel) is not None


def plain(name: str) -> str:
    """A C++ name without return type, parameters and the types of constants; any other name as it is.

    They tell no two kernels of a report apart.
    """
    return _plain(name) if name.endswith((")", ") const", "]")) else name


@lru_cache(maxsize=65_536)
def _plain(name: str) -> str:
    name = _original(name)
    if len(name) > 4096 or not name.endswith((")", ") const")) or not _IS_CPP.search(name):
        return name
    text = _without_parameters(name)
    # no compiler writes a blank there: `Post::Bloom (half)` is a marker's name
    return name if name[len(text) : len(text) + 1] == " " else _CAST.sub("", text.removeprefix("void "))


def is_cut(name: str) -> bool:
    """True for a name that a tool printed without its end."""
    return name.endswith(("...", "…"))


# a name is shortened for every finding and cell that mentions it
@lru_cache(maxsize=65_536)
def kernel(name: str) -> str:
    """The telling part of a C++ kernel name; any other name as it is."""
    name = demangled(_original(name))
    # the search grows with the square of the length: a hostile name of a megabyte would take minutes
    if len(name) > 4096 or not _IS_CPP.search(name):
        return name
    text = _CAST.sub("", _LAMBDA.sub(_lambda, _ANONYMOUS.sub("anon", name)))
    token = _last(_without_parameters(_CONDITION_RE.sub("", text)), " ")  # what stands before is the return type
    token = _last(token, "::")
    if (
        _NUMBER_RE.sub("", token) == "lambda" and (around := text.partition("::lambda")[0]) != text
    ):  # SYCL: the function that submits it
        return f"{_last(_last(_without_parameters(around), ' '), '::')} lambda"
    cut = token.find("<")
    base, arguments = (token, "") if cut <= 0 else (token[:cut], token[cut:])
    inner = _arguments(arguments, base == "kentry") if arguments else ""
    if _ONE_LAMBDA_RE.fullmatch(inner):  # a wrapper that runs it: the function that writes it
        return inner
    return _NUMBER_RE.sub("", f"{base}<{inner}>" if inner else base or name)


def function(name: str) -> str:
    """What all instances of a kernel share: `gemm<128, 64>` is `gemm`, `advec lambda 2` `advec`; of `map<Add>` the type is the kernel."""
    return _INSTANCE_OF_RE.sub("", kernel(name))


def _lambda(m: re.Match[str]) -> str:
    """`[lambda(int) (instance 2)]` -> `lambda#2`."""
    number = _INSTANCE_RE.search(m[0])
    return f"lambda#{number[1]}" if number else "lambda"


def demangled(name: str) -> str:
    """`_ZN2ab3fooIfEEvPT_` -> `ab::foo`: the names of an Itanium-mangled function, without its types."""
    if not name.startswith("_Z"):
        return name
    nested = name.startswith("_ZN")
    at, parts = 3 if nested else 2, list[str]()
    while (nested or not parts) and (m := _LENGTH_RE.match(name, at)):
        at = m.end() + int(m[0])
        parts.append(name[m.end() : at])
    if parts[-1:] == ["kentry"] and (m := _ENTERED_RE.match(name, at)):
        parts[-1] += f"<{name[m.end() : m.end() + int(m[1])]}>"
    return "::".join("(anonymous)" if p.startswith("_GLOBAL__N_") else p for p in parts) or name


def _original(name: str) -> str:
    """The name that a compiler's copy was made of: `f(int) [clone .constprop.0]` -> `f(int)`."""
    return (name.endswith("]") and name.partition(" [clone ")[0]) or name


def _last(text: str, separator: str) -> str:
    """What follows the last separator outside brackets."""
    depth, start = 0, 0
    for i, c in enumerate(text):
        depth += (c in "<([") - (c in ">)]")
        if depth == 0 and text.startswith(separator, i):
            start = i + len(separator)
    return text[start:] or text


def _without_parameters(text: str) -> str:
    """The text before the parameter list that ends it."""
    if not text.endswith((")", ") const")):
        return text
    depth = 0
    # from the end: a parameter such as `int (*)(long)` holds brackets of its own
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if text[i] == "(" and depth == 0:
            return text[:i].rstrip() or text
    return text


def parameters(name: str) -> tuple[str, ...]:
    """The types of a C++ kernel's parameters, `("const float *", "int")`; none where the name states none."""
    name = _original(name)
    if len(name) > 4096 or not _IS_CPP.search(name):
        return ()
    listed = name[len(_without_parameters(name)) :].strip().removesuffix(" const")
    return tuple(part.strip() for part in _outside(listed[1:-1], ",") if part.strip())


def _outside(text: str, separator: str) -> list[str]:
    """The text split where the separator stands outside brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<([") - (c in ">)]")
        if c == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _arguments(text: str, entered: bool) -> str:
    """The first two template arguments, without namespaces and their own arguments; entered: without numbers before the kernel."""
    clean = [_argument(p) for p in _outside(text[1:].removesuffix(">"), ",")]
    named = [p for p in clean if p and not (entered and p.isdigit())]
    return ", ".join(named[:2]) + (", …" if len(named) > 2 else "")


def _argument(text: str) -> str:
    """`f(int)::lambda#2` -> `f lambda 2`, `ns::Add<float>` -> `Add`."""
    function, _, number = text.strip().rpartition("::lambda#")
    if number.isdigit() and "lambda" not in function and function.endswith(")"):
        return f"{_last(_without_parameters(function), '::')} lambda {number}"
    depth, flat = 0, ""
    for c in _NUMBER_RE.sub("", text):
        depth += (c == "<") - (c == ">")
        flat += c if depth == 0 and c != ">" else ""
    return _last(flat.strip(), "::").strip()
