"""A trace event decoded only as far as its category says it is of use: details stay text until they are asked for."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import orjson


class Details(msgspec.Struct, gc=False):
    """What Kineto writes under `args`, as it stands there; None for what is missing."""

    correlation: Any = None
    correlation_raw: Any = None
    external: Any = msgspec.field(default=None, name="External id")
    external_2021: Any = msgspec.field(default=None, name="external id")
    rank: Any = None
    device: Any = None
    stream: Any = None
    bytes: Any = None
    size: Any = None
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared: Any = msgspec.field(default=None, name="shared memory")
    peers: Any = msgspec.field(default=None, name="Process Group Ranks")
    dims: Any = msgspec.field(default=None, name="Input Dims")
    types: Any = msgspec.field(default=None, name="Input type")
    plain: Any = msgspec.field(default=None, name="Concrete Inputs")
    strides: Any = msgspec.field(default=None, name="Input Strides")
    collective: Any = msgspec.field(default=None, name="Collective name")
    sent: Any = msgspec.field(default=None, name="In msg nelems")
    received: Any = msgspec.field(default=None, name="Out msg nelems")
    members: Any = msgspec.field(default=None, name="Group size")
    dtype: Any = None


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
        return {**msgspec.structs.asdict(self), "args": self._args()}

    def details(self) -> Details:
        """Its details; empty where it has none."""
        try:
            if type(self.args) is msgspec.Raw:
                return _DETAILS.decode(self.args)
        except ValueError:
            pass
        args = self._args()
        return msgspec.convert(args, Details) if type(args) is dict else Details()

    def _args(self) -> Any:
        return loads(bytes(self.args)) if type(self.args) is msgspec.Raw else self.args


_DETAILS = msgspec.json.Decoder(Details)


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
