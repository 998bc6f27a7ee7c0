"""The types of the result, its schema and what is written say the same: adding a key in one place alone fails here."""

import copy
import json
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import pytest

import triage
from tests.conftest import ROOT, SAMPLES
from triage.document.entries import Result

SCHEMA = json.loads((ROOT / "triage" / "document" / "result.schema.json").read_text("utf-8"))
WORDS = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
CAPTURES = ("gpu-trace/demo_frame", "nsys-sqlite", "ncu-rep", "presentmon")


def hints(kind: Any) -> tuple[dict[str, Any], set[str]]:
    """(keys of a TypedDict in the order of its bases and its own lines, with the types of their values; those it requires)."""
    found = typing.get_type_hints(kind, include_extras=True)
    loose = {key for key, t in found.items() if get_origin(t) is typing.NotRequired}
    return {key: get_args(t)[0] if key in loose else t for key, t in found.items()}, found.keys() - loose


def options(kind: Any) -> tuple[Any, ...]:
    """The members of a union; the type itself where it is none."""
    return get_args(kind) if get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A node of the schema, without its detour over $defs."""
    return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def words_of(node: dict[str, Any]) -> set[str]:
    """Names of the types that a node allows."""
    if "const" in node or "enum" in node:
        return {WORDS[type(v)] for v in (node["enum"] if "enum" in node else [node["const"]])}
    return {node["type"]} if isinstance(node["type"], str) else set(node["type"])


def differences(kind: Any, node: dict[str, Any], schema: dict[str, Any], at: str, seen: set[Any]) -> Iterator[str]:
    """Where a type and a node of the schema depart from each other."""
    node = resolved(node, schema)
    if "oneOf" in node:
        members = options(kind)
        if len(members) != len(node["oneOf"]):
            yield f"{at}: {len(members)} types, {len(node['oneOf'])} in the schema"
        for one, part in zip(members, node["oneOf"], strict=False):
            yield from differences(one, part, schema, at, seen)
        return
    allowed = set()
    for one in options(kind):
        inner = get_args(one)[0] if get_origin(one) is Annotated else one
        if get_origin(one) is Annotated and set(node.get("enum", ())) != set(get_args(one)[1]):
            yield f"{at}: the type has the words {get_args(one)[1]}, the schema {node.get('enum')}"
        if get_origin(inner) in (list, typing.get_origin(typing.Sequence[int])):
            allowed.add("array")
            yield from differences(get_args(inner)[0], node.get("items", {"type": "?"}), schema, f"{at}[]", seen)
        elif get_origin(inner) is dict:
            allowed.add("object")
            yield from differences(get_args(inner)[1], node.get("additionalProperties", {"type": "?"}), schema, f"{at}{{}}", seen)  # fmt: skip
        elif typing.is_typeddict(inner):
            allowed.add("object")
            yield from keys_apart(inner, node, schema, at, seen)
        else:
            allowed.add(WORDS[inner])
    if allowed != words_of(node):
        yield f"{at}: the type is {sorted(allowed)}, the schema says {sorted(words_of(node))}"


def keys_apart(kind: Any, node: dict[str, Any], schema: dict[str, Any], at: str, seen: set[Any]) -> Iterator[str]:
    """The same of an object: keys on one side alone, keys that only one side requires, and what their values are."""
    if (kind, id(node)) in seen:  # sources lie within sources
        return
    seen.add((kind, id(node)))
    (known, required), listed = hints(kind), node.get("properties", {})
    for key in known.keys() ^ listed.keys():
        yield f"{at}.{key}: only in the {'type' if key in known else 'schema'}"
    for key in required ^ set(node.get("required", ())):
        yield f"{at}.{key}: required by the {'type' if key in required else 'schema'} alone"
    for key in known.keys() & listed.keys():
        yield from differences(known[key], listed[key], schema, f"{at}.{key}", seen)


def apart(schema: dict[str, Any]) -> list[str]:
    return sorted(differences(Result, schema, schema, "", set()))


def test_the_types_and_the_schema_are_one() -> None:
    assert apart(SCHEMA) == []


def objects(node: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where objects with properties stand in the schema."""
    if isinstance(node, dict):
        if "properties" in node and isinstance(node.get("type"), str | list):
            yield at
        for key, value in node.items():
            yield from objects(value, (*at, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from objects(value, (*at, i))


@pytest.mark.parametrize("at", list(objects(SCHEMA)), ids=lambda at: ".".join(map(str, at)) or "result")
def test_a_key_in_the_schema_alone_is_seen(at: tuple[str | int, ...]) -> None:
    """In every object: one key more, one less, one of another type, one that is not required any more."""
    for change in ("more", "less", "type", "loose"):
        schema = copy.deepcopy(SCHEMA)
        node: Any = schema
        for step in at:
            node = node[step]
        first = next(iter(node["properties"]))
        if change == "more":
            node["properties"]["surprise"] = {"type": "string"}
        elif change == "less":
            del node["properties"][first]
        elif change == "type":
            node["properties"][first] = {"type": "object"}
        else:
            node["required"] = node["required"][1:]
        assert apart(schema), f"{change} is not seen"


def written(value: Any, kind: Any, at: str) -> Iterator[str]:
    """Where a value is not what its type says: keys and their order, and the kinds of values."""
    for one in options(kind):
        inner = get_args(one)[0] if get_origin(one) is Annotated else one
        if typing.is_typeddict(inner) and isinstance(value, dict):
            known, required = hints(inner)
            if not required <= value.keys():
                continue
            if list(value) != [key for key in known if key in value] or not value.keys() <= known.keys():
                yield f"{at}: keys {list(value)}, in the type {list(known)}"
            for key in value.keys() & known.keys():
                yield from written(value[key], known[key], f"{at}.{key}")
            return
        if get_origin(inner) is dict and isinstance(value, dict):
            for key, item in value.items():
                yield from written(item, get_args(inner)[1], f"{at}.{key}")
            return
        if isinstance(value, list) and get_args(inner) and get_origin(inner) is not dict:
            for item in value:
                yield from written(item, get_args(inner)[0], f"{at}[]")
            return
        if get_origin(one) is Annotated and value in get_args(one)[1]:
            return
        if inner is str and isinstance(value, str) and get_origin(one) is not Annotated:  # a Command is text as well
            return
        if get_origin(one) is not Annotated and inner in WORDS and (type(value) is inner or (inner is float and type(value) is int)):  # fmt: skip
            return
    yield f"{at}: {value!r} is no {kind}"


@pytest.mark.slow
@pytest.mark.parametrize("sample", CAPTURES)
def test_what_is_written_is_what_the_types_say(sample: str) -> None:
    path = SAMPLES / sample
    if not (path / "BASE").is_dir() and path.is_dir() and "/" not in sample:
        path = min(p for p in path.rglob("*") if p.is_file() and p.suffix in (".sqlite", ".ncu-rep", ".csv"))
    document = triage.diagnose(path).to_dict()
    assert list(written(document, Result, "")) == []
