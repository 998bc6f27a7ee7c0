"""Tables of a rocpd database (rocprofv3 --output-format rocpd): dispatches, copies, calls and markers of one run.

Every table's name ends in the identifier of the run that wrote it. Older schemas keep start and end in the rows, newer ones
as numbers of rows in a table of timestamps, and agents and threads in a table of tracks; both are read. What belongs
together - a call, and the work it started - shares the stack id of its events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.capture.arrays import Floats, Indices, Names
from triage.capture.timeline.call_classes import class_of
from triage.capture.timeline.nesting import Nest
from triage.capture.trace_nouns import COPY, FROM_DEVICE, KERNEL, OTHER_WAY, Calls, Operations
from triage.dialects.amd.rocprofv3.kernel_trace import SEGMENTS, SYMBOL, WAYS
from triage.dialects.tables.database import MISSING, Database, floats, sane
from triage.ground.errors import BadCapture

if TYPE_CHECKING:
    import pandas as pd

DISPATCH, COPIES = "rocpd_kernel_dispatch", "rocpd_memory_copy"
AXES = tuple(f"{what}_size_{a}" for what in ("workgroup", "grid") for a in "xyz")
_CALLS = ("HIP", "HSA")  # beginnings of the categories of calls


def runs(database: Database) -> list[str]:
    """Endings of the tables' names, one per run."""
    return sorted(t.removeprefix(DISPATCH) for t in database.tables if t.startswith(DISPATCH))


class Run:
    """One run of a database. remarks: what was left out, in words."""

    def __init__(self, database: Database, ending: str) -> None:
        import pandas as pd

        self.db, self.ending = database, ending
        self.remarks: list[str] = []
        events = self.rows("rocpd_event", ("id", "stack_id", "correlation_id", "category_id"))
        stack = events.get("stack_id", events["id"] * 0)
        other = events.get("correlation_id", stack)
        key = np.where((stack == MISSING) | (stack == 0), other, stack)
        self._keys = pd.Series(np.where(key == MISSING, 0, key), index=events["id"])
        self._categories = pd.Series(events.get("category_id", events["id"] * 0).to_numpy(), index=events["id"])
        self._stamps = self.rows("rocpd_timestamp", ("id", "value")).set_index("id").get("value")
        tracks = self.rows("rocpd_track", ("id", "pid", "tid", "agent_id", "queue_id", "stream_id"))
        self._tracks = tracks.set_index("id")
        self.kernels = self.timed(DISPATCH, ("kernel_id", *AXES, *SEGMENTS.values()))
        self.copies = self.timed(COPIES, ("name_id", "size", "dst_agent_id", "src_agent_id"))
        columns = ("id", "type", "type_index", "absolute_index", "product_name", "name")
        agents = db_texts(self, "rocpd_info_agent", columns)
        self.agents = {int(i): (kind, nth or place, product, arch) for i, kind, nth, place, product, arch in agents}
        self.symbols = self.rows("rocpd_info_kernel_symbol", ("id", *SYMBOL.values())).set_index("id")
        self.kernel_names = {
            int(i): shown or name or "(kernel without a name)"
            for i, shown, name in db_texts(self, "rocpd_info_kernel_symbol", ("id", "display_name", "kernel_name"))
        }

    def __len__(self) -> int:
        return len(self.kernels) + len(self.copies)

    def table(self, name: str) -> str:
        """The run's table of a kind, "" where it is not there."""
        return self.db.table(name + self.ending)

    def rows(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        """Whole numbers of a table by its ids, the first column: always there, empty where the table is not.

        Raises BadCapture for an id that stands twice, which only a damaged database has.
        """
        import pandas as pd

        found = self.db.numbers(self.table(name), columns) if self.table(name) else {}
        frame = pd.DataFrame(found if columns[0] in found else {c: np.zeros(0, dtype=np.int64) for c in columns})
        if not frame[columns[0]].is_unique:
            raise BadCapture(
                f"{self.db.source.path}: an id stands twice in {name}: the database is damaged", "export again"
            )
        return frame

    def timed(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        """Rows with start, end, agent_id, stream, pid, tid and key, and their position in the table as `row`."""
        import pandas as pd

        table = self.table(name)
        wanted = ("start", "end", "start_id", "end_id", "track_id", "agent_id", "stream_id", "queue_id", "pid", "tid", "event_id")  # fmt: skip
        found = pd.DataFrame(self.db.numbers(table, (*wanted, *columns)) if table else {})
        if not len(found):
            return pd.DataFrame({c: np.zeros(0, dtype=np.int64) for c in (*wanted, *columns, "row", "stream", "key")})
        for c in columns:  # a damaged database may lack any of them: what they refer to is then not known
            if c.endswith("_id") and c not in found:
                found[c] = MISSING
        found["row"] = np.arange(len(found))
        if "start" not in found and self._stamps is not None and {"start_id", "end_id"} <= set(found):
            for side in ("start", "end"):
                found[side] = found[f"{side}_id"].map(self._stamps).fillna(MISSING).astype(np.int64)
        for c in ("agent_id", "queue_id", "stream_id", "pid", "tid"):
            if c not in found:
                known = self._tracks.get(c)
                of_track = found["track_id"].map(known) if known is not None and "track_id" in found else None
                found[c] = 0 if of_track is None else of_track.fillna(MISSING).astype(np.int64)
        found["stream"] = np.where(found["stream_id"] == MISSING, found["queue_id"], found["stream_id"])
        event = found.get("event_id", found["row"] * 0)
        found["key"] = event.map(self._keys).fillna(0).astype(np.int64)
        found["category"] = event.map(self._categories).fillna(MISSING).astype(np.int64)
        if "start" not in found or "end" not in found:
            self.remarks.append(f"{name} has no times; it was left out")
            return found.iloc[:0].assign(start=0, end=0)
        good, wrong = sane(found["start"].to_numpy(), found["end"].to_numpy())
        if wrong:
            self.remarks.append(f"{name}: rows {wrong} were left out")
        return found[good]

    def strings(self, ids: pd.Series[Any]) -> pd.Series[str]:
        """Texts of numbers in the table of strings."""
        known = self.db.strings(self.table("rocpd_string"), ids.unique(), value="string")
        # without any text the result would be of floats, which take no text
        return ids.map(known).astype(object).fillna("").astype(str)

    def calls(self) -> tuple[Calls, Indices, Nest | None]:
        """(calls of the runtime, the key of each, the markers of the program)."""
        import pandas as pd

        found = self.timed("rocpd_region", ("name_id",))
        category = self.strings(found["category"]) if len(found) else pd.Series(dtype=object)
        thread = pd.factorize(found["pid"].to_numpy() * (1 << 32) + found["tid"].to_numpy())[0].astype(np.int64)
        marked = category.str.startswith("MARKER").to_numpy(dtype=bool)
        called = category.str.startswith(_CALLS).to_numpy(dtype=bool)
        name, words = pd.factorize(self.strings(found["name_id"]).to_numpy(dtype=object))
        kinds = np.array([class_of(str(w)) for w in words] or [0], dtype=np.int8)
        start, end = (found[c].to_numpy(dtype=np.int64) for c in ("start", "end"))
        texts = [str(w) for w in words]
        at = np.flatnonzero(called)
        calls = Calls(
            start[at], end[at], thread[at], kinds[name[at]] if len(at) else kinds[:0], name[at].astype(np.int64), texts
        )
        on = np.flatnonzero(marked)
        nest = Nest(start[on], end[on], thread[on], name[on].astype(np.int64), texts) if len(on) else None
        return calls, found["key"].to_numpy(dtype=np.int64)[at], nest

    def operations(self, calls: Calls, keys: Indices) -> tuple[Operations, list[str], list[tuple[str, str | None]]]:
        """(dispatches and then copies, their names, the devices)."""
        import pandas as pd

        kernels, copies = self.kernels, self.copies
        direction = self.strings(copies["name_id"]).str.replace("MEMORY_COPY_", "", regex=False)
        way = direction.map(WAYS).fillna(OTHER_WAY).to_numpy(dtype=np.int8)
        # the device: the source of copies from it, the destination of copies to it
        side = (
            np.where(way == FROM_DEVICE, copies["src_agent_id"], copies["dst_agent_id"]) if len(copies) else np.zeros(0)
        )
        both = pd.concat([kernels, copies.assign(agent_id=side.astype(np.int64))], ignore_index=True)
        device, agents = pd.factorize(both["agent_id"])
        titles = [*(self.kernel_names.get(int(k), "(kernel without a name)") for k in kernels["kernel_id"])]
        titles += ["[copy " + d.lower().replace("_", " ") + "]" for d in direction]
        name, words = pd.factorize(np.array(titles, dtype=object))
        first = pd.Series(np.arange(len(keys)), index=keys)
        first = first[~first.index.duplicated() & (first.index != 0)]
        size = both.get("size", both["row"] * 0).fillna(0).to_numpy(dtype=np.int64)
        operations = Operations(
            start=both["start"].to_numpy(dtype=np.int64),
            end=both["end"].to_numpy(dtype=np.int64),
            kind=np.repeat(np.array([KERNEL, COPY], dtype=np.int8), [len(kernels), len(copies)]),
            device=device.astype(np.int64),
            stream=both["stream"].to_numpy(dtype=np.int64),
            process=both["pid"].to_numpy(dtype=np.int64),
            call=both["key"].map(first).fillna(-1).to_numpy(dtype=np.int64),
            name=name.astype(np.int64),
            bytes=np.maximum(size, 0),
            way=np.concatenate([np.full(len(kernels), OTHER_WAY, dtype=np.int8), way]),
            pageable=np.zeros(len(both), dtype=bool),
        )
        devices: list[tuple[str, str | None]] = []
        for agent in agents.tolist():
            _, number, product, arch = self.agents.get(agent, ("", str(agent), "", ""))
            devices.append((number or str(agent), product or arch or None))
        return operations, [str(w) for w in words], devices

    def shapes(self) -> dict[str, Floats]:
        """Metric or column -> values of the dispatches, NaN for copies."""
        out: dict[str, Floats] = {}
        k, blank = self.kernels, np.full(len(self.copies), np.nan)
        for name, column in {**{a: a for a in AXES}, **SEGMENTS}.items():
            if column in k:
                out[name] = np.concatenate([floats(k[column].to_numpy(dtype=np.int64)), blank])
        for metric, column in SYMBOL.items():
            if column in self.symbols:
                known = k["kernel_id"].map(self.symbols[column]).fillna(MISSING).to_numpy(dtype=np.int64)
                out[metric] = np.concatenate([floats(known), blank])
        return out

    def paths(self, calls: Calls, call: Indices, nest: Nest | None) -> Names | None:
        """Markers around the call that started each operation."""
        if nest is None or not (call >= 0).any():
            return None
        out: Names = np.full(len(call), "", dtype=object)
        have = np.flatnonzero(call >= 0)
        out[have] = nest.paths_at(calls.thread[call[have]], calls.start[call[have]])
        return out


def db_texts(run: Run, name: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Rows of texts whose first cell is a whole number."""
    return [row for row in run.db.texts(run.table(name), list(columns)) if row[0].isdigit()]
