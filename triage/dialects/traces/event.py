"""A trace event decoded only as far as its category says it is of use: details stay text until they are asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import orjson

D = TypeVar("D")
_NONE = msgspec.Raw(b"null")


class Details(msgspec.Struct, gc=False):
    """What Kineto writes under `args`, as it stands there; None or 0 for what is missing."""

    correlation: Any = 0
    correlation_raw: Any = None
    correlation_id: Any = msgspec.field(default=0, name="correlation id")  # of PaddlePaddle
    corr_id: Any = 0  # of rocprofv3, as are the agents and copy_bytes
    external: Any = msgspec.field(default=None, name="External id")
    external_2021: Any = msgspec.field(default=0, name="external id")
    rank: Any = None
    device: Any = None
    agent: Any = None
    origin: Any = msgspec.field(default=None, name="src_agent")
    target: Any = msgspec.field(default=None, name="dst_agent")
    stream: Any = None
    bytes: Any = 0
    copy_bytes: Any = 0
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared: Any = msgspec.field(default=None, name="shared memory")
    peers: Any = msgspec.field(default=None, name="Process Group Ranks")
    collective: Any = msgspec.field(default=None, name="Collective name")
    sent: Any = msgspec.field(default=None, name="In msg nelems")
    received: Any = msgspec.field(default=None, name="Out msg nelems")
    members: Any = msgspec.field(default=None, name="Group size")
    dtype: Any = None


class Operands(msgspec.Struct, gc=False):
    """What Kineto writes under `args` of an operator; texts, as many operators have the same."""

    rank: Any = None
    dims: msgspec.Raw = msgspec.field(default=_NONE, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=_NONE, name="Input type")
    plain: msgspec.Raw = msgspec.field(default=_NONE, name="Concrete Inputs")
    strides: msgspec.Raw = msgspec.field(default=_NONE, name="Input Strides")

    def arguments(self) -> dict[str, Any]:
        """Its operands by what they say, decoded."""
        return {k: loads(bytes(getattr(self, k))) for k in ("dims", "types", "plain", "strides")}


class Event(msgspec.Struct, gc=False):
    """One row of a Chrome trace. args: the text of its details, or what a translation made of them."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = 0.0
    args: msgspec.Raw = msgspec.Raw(b"{}")

    @classmethod
    def of(cls, row: dict[str, Any]) -> Event:
        """The event of a row that was decoded whole."""
        return cls(**{k: row[k] for k in cls.__struct_fields__ if k in row})

    def row(self) -> dict[str, Any]:
        """Its row, decoded whole."""
        return {**msgspec.structs.asdict(self), "args": self.given()}

    def given(self) -> Any:
        """Its details, decoded whole."""
        return loads(bytes(self.args)) if type(self.args) is msgspec.Raw else self.args


_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {
    Details: msgspec.json.Decoder(list[Details]),
    Operands: msgspec.json.Decoder(list[Operands]),
}


def details(events: Sequence[Event], kind: type[D]) -> list[D]:
    """The details of each event, empty where it has none."""
    decode = _DECODERS[kind].decode
    try:
        found: list[D] = decode(b"[" + b",".join([e.args for e in events]) + b"]")
    except (TypeError, ValueError):
        whole = [e.given() for e in events]
        found = decode(orjson.dumps([args if type(args) is dict else {} for args in whole]))
    return found


def loads(text: bytes) -> Any:
    """The value of a text, None where it is no JSON; NaN, Infinity and broken characters are let pass."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
