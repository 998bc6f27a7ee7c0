"""Tables of an Nsight Systems database: work on the devices, calls of the host, ranges, devices, remarks.

Tables exist only where something was recorded, and columns come and go with the versions, so each is asked for. The key
of work to its call is (process, correlation id): ids repeat between processes.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from msgspec import Struct, field

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.timeline.call_classes import class_of
from triage.capture.trace_nouns import (
    COPY,
    FROM_DEVICE,
    GRAPH,
    KERNEL,
    LOAD,
    ON_DEVICE,
    OTHER_WAY,
    PROFILER,
    SET,
    TO_DEVICE,
    WORK,
    Calls,
    Operations,
)
from triage.dialects.tables.database import MISSING, Database, floats, sane

META = ("META_DATA_EXPORT", "EXPORT_META_DATA")  # the second up to 2022
_KIND = "CUPTI_ACTIVITY_KIND_"
_SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
_SIZES = ("registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread")
_KEYS = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")
_COPIES = {
    1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array", 4: "Array-to-Host", 5: "Array-to-Array",
    6: "Array-to-Device", 7: "Device-to-Array", 8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer",
    11: "Unified Host-to-Device", 12: "Unified Device-to-Host", 13: "Unified Device-to-Device",
}  # fmt: skip
_WAYS = {1: TO_DEVICE, 2: FROM_DEVICE, 8: ON_DEVICE}
_PAGEABLE = 0
# of CUPTI_ACTIVITY_KIND_OVERHEAD: compiling and loading; the profiler's own flushing, instrumentation and resources
_OVERHEAD = {2: LOAD, 6: LOAD, 7: LOAD, 3: PROFILER, 4: PROFILER, 5: PROFILER}
# work of the graphics APIs and the calls that submit it
_GRAPHICS = (("DX12_WORKLOAD", "DX12_API"), ("VULKAN_WORKLOAD", "VULKAN_API"), ("OPENGL_WORKLOAD", "OPENGL_API"))


class Work(Struct):
    """One table of work, cleaned. numbers: its columns; names: per row a position in words; rows: of the table as it is."""

    table: str
    kind: int
    size: int
    rows: Indices
    numbers: dict[str, Indices]
    names: Indices
    words: list[str]
    api: int = 0
    short: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str, default: int = 0) -> Indices:
        """A column, `default` where it or a cell is missing."""
        found = self.numbers.get(name)
        if found is None:
            return np.full(len(self), default, dtype=np.int64)
        return np.where(found == MISSING, default, found)


_VISIBLE_RE = re.compile(r"\bNVIDIA_VISIBLE_DEVICES=(GPU-[0-9a-f-]+(?:,GPU-[0-9a-f-]+)*)")


class Export:
    """Everything that is read from one database. remarks: what was left out, in words."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.remarks: list[str] = []
        self.work = [w for w in self._all_work() if len(w)]
        self.version = self._version()

    def _version(self) -> str:
        rows = self.database.texts(self.database.table(*META), ["name", "value"])
        return next((value[:40] for name, value in rows if name == "EXPORT_PRODUCT_VERSION"), "")

    def __len__(self) -> int:
        return sum(map(len, self.work))

    # --- work on the devices

    def _all_work(self) -> list[Work]:
        kernel = (*_KEYS, "demangledName", "shortName", *_SHAPE, *_SIZES)
        copy = (*_KEYS, "bytes", "copyKind", "srcKind", "dstKind")
        found = [self._kernels(self._read(_KIND + k, KERNEL, kernel)) for k in ("KERNEL", "CONCURRENT_KERNEL")]
        # some versions keep copies between devices in another table
        copies = (self._read(_KIND + table, COPY, copy) for table in ("MEMCPY", "MEMCPY2"))
        found += [self._fixed(work, "copyKind", _COPIES, "[CUDA memcpy {}]") for work in copies]
        found.append(self._fixed(self._read(_KIND + "MEMSET", SET, (*_KEYS, "bytes")), "", {}, "[CUDA memset]"))
        graph = self._read(_KIND + "GRAPH_TRACE", GRAPH, (*_KEYS, "graphId"))
        found.append(self._fixed(graph, "graphId", {}, "[CUDA graph {}]"))
        found += [self._graphics(api, *tables) for api, tables in enumerate(_GRAPHICS, 1)]
        return [w for w in found if w is not None]

    def _read(self, table: str, kind: int, columns: tuple[str, ...], where: str = "") -> Work | None:
        """Rows with times that can be true; the others are remarked upon."""
        name = self.database.table(table)
        if not name:
            return None
        numbers = self.database.numbers(name, columns, where)
        if "start" not in numbers or "end" not in numbers:
            self.remarks.append(f"{name} has no column start or end; it was left out")
            return None
        good, wrong = sane(numbers["start"], numbers["end"])
        size = len(good)
        rows = np.arange(size)
        if wrong:
            self.remarks.append(f"{name}: rows {wrong} were left out")
            rows = np.flatnonzero(good)
            numbers = {c: v[rows] for c, v in numbers.items()}
        return Work(name, kind, size, rows, numbers, np.zeros(len(rows), dtype=np.int64), [""])

    def _kernels(self, work: Work | None) -> Work | None:
        import pandas as pd

        if work is None:
            return None
        column = next((c for c in ("demangledName", "shortName") if c in work.numbers), "")
        codes, ids = pd.factorize(work.column(column, MISSING))
        if column and len(ids) == 1 and ids[0] == MISSING:  # files of other tools hold the names themselves
            named = np.array([text for (text,) in self.database.texts(work.table, [column])], dtype=object)[work.rows]
            codes, named = pd.factorize(named)
            work.names, work.words = codes.astype(np.int64), [str(w) or "(kernel without a name)" for w in named]
            return work
        texts = self._strings(ids)
        work.names, work.words = codes.astype(np.int64), [texts.get(int(i)) or "(kernel without a name)" for i in ids]
        if "shortName" in work.numbers:  # of each name, what Nsight Compute calls the function
            first = np.zeros(len(ids), dtype=np.int64)
            first[codes[::-1]] = np.arange(len(codes))[::-1]
            short = work.column("shortName", MISSING)[first]
            known = self._strings(np.unique(short))
            work.short = [known.get(int(i), "") for i in short]
        return work

    @staticmethod
    def _fixed(work: Work | None, column: str, words: dict[int, str], text: str) -> Work | None:
        """Names made of a number's word, or of the number."""
        import pandas as pd

        if work is not None:
            codes, found = pd.factorize(work.column(column, 0))
            work.names = codes.astype(np.int64)
            work.words = [text.format(words.get(int(k), int(k))) for k in found]
        return work

    def _graphics(self, api: int, table: str, _calls: str) -> Work | None:
        """Command lists and submissions; where the program marked them, the marks, which say more than the call's name."""
        import pandas as pd

        columns = ("start", "end", "gpu", "correlationId", "globalTid", "nameId", "textId")
        work = self._read(table, WORK, columns)
        if work is None or not len(work):
            return None
        text = work.column("textId", MISSING)
        plain = text == MISSING
        if plain.any() and not plain.all():  # marks span several submissions: both would count the time twice
            work = self._read(table, WORK, columns, 'ifnull("textId", -1) = -1') or work
            text = np.full(len(work), MISSING)
        ids = np.where(text == MISSING, work.column("nameId", MISSING), text)
        codes, found = pd.factorize(ids)
        known = self._strings(found)
        work.names, work.words = codes.astype(np.int64), [known.get(int(i)) or "(no name)" for i in found]
        work.numbers["deviceId"] = work.column("gpu", 0)
        work.numbers["globalPid"] = work.column("globalTid", 0)
        work.api = api
        return work

    def _strings(self, ids: Indices) -> dict[int, str]:
        return self.database.strings(self.database.table("StringIds"), ids[ids != MISSING])

    # --- calls of the host

    def calls(self) -> tuple[Calls, Indices, Indices]:
        """(calls and overhead, process of each, correlation id of each; -1 for overhead)."""
        import pandas as pd

        parts: list[tuple[np.ndarray[Any, Any], ...]] = []
        names: list[str] = []
        tables = [(0, _KIND + "RUNTIME"), (0, _KIND + "DRIVER")]
        used = {w.api for w in self.work}
        tables += [(api, calls) for api, (_, calls) in enumerate(_GRAPHICS, 1) if api in used]
        for api, table in tables:
            name = self.database.table(table)
            got = self.database.numbers(name, ("start", "end", "globalTid", "correlationId", "nameId")) if name else {}
            if "start" not in got or "end" not in got:
                continue
            good, wrong = sane(got["start"], got["end"])
            if wrong:
                self.remarks.append(f"{name}: rows {wrong} were left out")
                got = {c: v[good] for c, v in got.items()}
            empty = np.zeros(len(got["start"]), dtype=np.int64)
            codes, ids = pd.factorize(got.get("nameId", np.full(len(empty), MISSING)))
            texts = self._strings(ids)
            words = [texts.get(int(i), "") for i in ids]
            kinds = np.array([class_of(w) for w in words] or [0], dtype=np.int8)[codes]
            thread = got.get("globalTid", empty)
            parts.append((got["start"], got["end"], thread, kinds, codes + len(names), (thread >> 24) & 0xFFFFFF, _key(api, got.get("correlationId", empty))))  # fmt: skip
            names += words
        name = self.database.table(_KIND + "OVERHEAD")
        got = self.database.numbers(name, ("start", "end", "globalTid", "overheadType")) if name else {}
        if len(got) == 4:
            good, _ = sane(got["start"], got["end"])
            good &= np.isin(got["overheadType"], list(_OVERHEAD))
            got = {c: v[good] for c, v in got.items()}
            kind = np.array([_OVERHEAD[int(k)] for k in got["overheadType"]], dtype=np.int8)
            none = np.full(len(kind), -1, dtype=np.int64)
            parts.append((got["start"], got["end"], got["globalTid"], kind, none, none, none))
        if not parts:
            nothing = np.zeros(0, dtype=np.int64)
            return Calls(nothing, nothing, nothing, nothing.astype(np.int8), nothing, []), nothing, nothing
        start, end, thread, kind, name_of, process, key = (np.concatenate(side) for side in zip(*parts, strict=True))
        return Calls(start, end, thread, kind.astype(np.int8), name_of, names), process, key

    # --- together

    def operations(self, processes: Indices, keys: Indices, calls: Calls, device: Indices) -> Operations:
        """All work in the order of its tables; device: position of each row's device."""

        def whole(name: str) -> Indices:
            return np.concatenate([w.column(name) for w in self.work])

        kinds = np.concatenate([np.full(len(w), w.kind, dtype=np.int8) for w in self.work])
        known = all("globalPid" in w.numbers for w in self.work)
        process = (whole("globalPid") >> 24) & 0xFFFFFF
        key = np.concatenate([_key(w.api, w.column("correlationId")) for w in self.work])
        call = (
            _joined(process, key, processes, keys, calls)
            if known
            else _joined(0 * key, key, 0 * processes, keys, calls)
        )
        base = np.cumsum([0] + [len(w.words) for w in self.work])
        copy_kind = whole("copyKind")
        way = np.full(len(kinds), OTHER_WAY, dtype=np.int8)
        for number, word in _WAYS.items():
            way[copy_kind == number] = word
        pageable: Masks = np.zeros(len(kinds), dtype=bool)
        for side, number in (("srcKind", 1), ("dstKind", 2)):
            values = np.concatenate([w.column(side, -1) for w in self.work])
            pageable |= (copy_kind == number) & (values == _PAGEABLE) & (kinds == COPY)
        return Operations(
            start=whole("start"),
            end=whole("end"),
            kind=kinds,
            device=device,
            stream=whole("streamId"),
            process=process,
            call=call,
            name=np.concatenate([w.names + b for w, b in zip(self.work, base, strict=False)]),
            bytes=np.maximum(whole("bytes"), 0),
            way=way,
            pageable=pageable,
        )

    @property
    def words(self) -> list[str]:
        """Names of operations, as Operations.name numbers them."""
        return [word for w in self.work for word in w.words]

    @property
    def functions(self) -> list[str]:
        """What Nsight Compute calls the kernels, in the order of `words`."""
        return [text for w in self.work for text in (w.short or [""] * len(w.words))]

    def shapes(self) -> dict[str, Floats]:
        """Columns of kernels, NaN for all other work; only those that the export has."""
        out = {}
        for c in (*_SHAPE, *_SIZES):
            if any(c in w.numbers for w in self.work if w.kind == KERNEL):
                parts = [
                    floats(w.numbers[c]) if w.kind == KERNEL and c in w.numbers else np.full(len(w), np.nan)
                    for w in self.work
                ]
                out[c] = np.concatenate(parts)
        return out

    def devices(self) -> tuple[Indices, list[tuple[str, str | None]], list[int | None], bool]:
        """(position of each row's device, (key, name) of the devices, SMs of each, several processes may share a number).

        A device's number is the one inside its process; where the export maps it to the GPU, that one is the key.
        """
        import pandas as pd

        db = self.database
        number = np.concatenate([w.column("deviceId") for w in self.work])
        process = (np.concatenate([w.column("globalPid") for w in self.work]) >> 24) & 0xFFFFFF
        mapped = db.numbers(db.table("TARGET_INFO_CUDA_DEVICE"), ("gpuId", "cudaId", "pid"))
        table: dict[tuple[int, int], int] = {}
        if len(mapped) == 3:
            table = dict(zip(zip(mapped["pid"].tolist(), mapped["cudaId"].tolist(), strict=True), mapped["gpuId"].tolist(), strict=True))  # fmt: skip
        codes, pairs = pd.factorize(process * (1 << 32) + np.clip(number, 0, (1 << 32) - 1))
        found = [(int(p) >> 32, int(p) & 0xFFFFFFFF) for p in pairs]
        keys = [str(table.get(pair, pair[1])) for pair in found]
        distinct = sorted(set(keys), key=int)
        order = {k: i for i, k in enumerate(distinct)}
        place = np.array([order[k] for k in keys] or [0], dtype=np.int64)
        gpus = self._gpus()
        names: list[tuple[str, str | None]] = []
        sms: list[int | None] = []
        for key in distinct:
            # without the map a number inside a process tells the GPU only where all are alike
            alike = next(iter(gpus.values())) if len(set(gpus.values())) == 1 else (None, None)
            name, count = gpus.get(int(key), alike) if table else alike
            names.append((key, name))
            sms.append(count)
        shared = not table and len({p for p, _ in found}) > len({n for _, n in found})
        return place[codes], names, sms, shared

    def _gpus(self) -> dict[int, tuple[str | None, int | None]]:
        db = self.database
        name = db.table("TARGET_INFO_GPU")
        rows = db.texts(name, ["id", "name", "smCount", "computeMajor", "computeMinor"]) if name else []
        out: dict[int, tuple[str | None, int | None]] = {}
        for number, text, sms, *_ in rows:
            if number.isdigit():
                out[int(number)] = (text[:100] or None, int(sms) if sms.isdigit() and 0 < int(sms) < 10_000 else None)
        return out

    def arch(self) -> str:
        """`sm_90` where all GPUs say so."""
        db = self.database
        name = db.table("TARGET_INFO_GPU")
        found = set(db.texts(name, ["computeMajor", "computeMinor"])) if name else set()
        major, minor = next(iter(found)) if len(found) == 1 else ("", "")
        return f"sm_{major}{minor}" if major.isdigit() and minor.isdigit() else ""

    def versions(self) -> dict[str, str]:
        """The driver's version, and the UUIDs of the GPUs, of those that the process could see where the table of GPUs is missing."""
        db = self.database
        environment = {
            name: value for name, value, *_ in db.texts(db.table("TARGET_INFO_SYSTEM_ENV"), ["name", "value"])
        }
        uuids = [u for (u,) in db.texts(db.table("TARGET_INFO_GPU"), ["uuid"])]
        seen = _VISIBLE_RE.search(environment.get("DeviceEnvironment", ""))
        uuids = [u.removeprefix("GPU-") for u in uuids or (seen[1].split(",") if seen else [])]
        found = {
            "driver": environment.get("NvDriverVersion", ""),
            "GPU UUID": ", ".join(f"GPU-{u[:8]}" for u in uuids if u),
        }
        return {what: text for what, text in found.items() if text}

    def diagnostics(self) -> list[str]:
        """Warnings and errors of the profiler itself, without paths and process ids."""
        db = self.database
        name = db.table("DIAGNOSTIC_EVENT")
        rows = db.texts(name, ["text"], '"severity" in (2, 3)') if {"text", "severity"} <= set(db.columns(name)) else []
        texts = dict.fromkeys(_anonymous(text) for (text,) in rows)
        return [f"Nsight Systems says: {text}" for text in texts if text and "NVTX events" not in text]


def _anonymous(text: str) -> str:
    text = re.sub(r"(?:[A-Za-z]:)?[\\/][\w.~-]*[\\/]\S*", "...", " ".join(text.split()))
    return re.sub(r"(?i)\b(pid|process|host(?:name)?|user)([ _:=]+)\S*[\d.]\S*", r"\1 ...", text)[:300]


def _key(api: int, correlation: Indices) -> Indices:
    """Correlation ids of several interfaces in one column, apart."""
    return (correlation & 0x0FFF_FFFF_FFFF) | (np.int64(api) << 44)


def _joined(process: Indices, key: Indices, processes: Indices, keys: Indices, calls: Calls) -> Indices:
    """The call that started each operation, the outermost of those with its id; -1 for none."""
    import pandas as pd

    if not len(keys):
        return np.full(len(key), -1, dtype=np.int64)
    # one number for both: ids fit 46 bits with their interface, so only the processes are renumbered
    codes, _ = pd.factorize(np.concatenate([process, processes]))
    theirs = (codes[len(process) :].astype(np.int64) << 47) | (keys & ((1 << 47) - 1))
    mine = (codes[: len(process)].astype(np.int64) << 47) | key
    valid = np.flatnonzero(calls.name >= 0)
    order, ids = valid, theirs[valid]
    if (ids[1:] <= ids[:-1]).any():
        order = valid[np.lexsort((-calls.end[valid], calls.start[valid], ids))]
    ranked = theirs[order]
    if not len(ranked):
        return np.full(len(key), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(ranked, mine), len(ranked) - 1)
    return np.where(ranked[at] == mine, order[at], -1)
