"""`triage.toml` (or `[tool.triage]` in pyproject.toml): what a project says once and for all.

    scope = "game"                      # what is captured; default its root marker
    rules = ["gpu/rules"]               # further rule packs, relative to this file
    [thresholds]
    "MEM003.sector" = "64 byte"         # as --set
    [columns]                           # of custom tables, as --map
    "Their column" = "sm.throughput"
    [needs]                             # bytes or operations per launch, as --needs
    "scale_*" = "537MB"
    [budgets]                           # ms, by marker or pass; "frame" is the whole frame
    "Frame/Shadows" = 2.5
    "Frame/Particles" = {ms = 1.5, owner = "@vfx"}
    [owners]                            # by marker; the first that fits
    "Frame/Shadows" = "@lighting"
    [[accepted]]                        # known, and left as it is until ...
    cause = "register-spills"
    marker = "Frame/Foliage"            # optional: only where the cause is found nowhere else
    reason = "waits for the new compiler"
    owner = "ann"
    expires = 2027-03-31
    saves_ms = 0.3                      # optional: listed again when it saves a quarter more

What the command line says goes before. The file is looked for here and in the folders above, up to the repository's
root; outside of a repository only here. One that another user owns is passed over, as git does. `--config FILE` or
TRIAGE_CONFIG names another one, `off` none.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct

from triage.files import bounded
from triage.ground.errors import TriageError
from triage.ground.phrasing import first_of
from triage.reading.stated_needs import Need, need

LARGEST = 1 << 18  # bytes of a project's settings
MAX_DEPTH = 12  # of tables and lists in it: the parser's time and memory grow with the square
ROOT = 0  # a user who may change anything
NAME = "triage.toml"
VARIABLE = "TRIAGE_CONFIG"
KNOWN = {
    "scope": str,
    "rules": list,
    "thresholds": dict,
    "columns": dict,
    "needs": dict,
    "budgets": dict,
    "owners": dict,
    "accepted": list,
}
# strings and comments, also unclosed ones: each alternative always matches, so the time is linear
_TEXT_RE = re.compile(
    r'''"""(?:[^\\"]|\\.?|"(?!""))*(?:"""|\Z)|'{3}(?:[^']|'(?!''))*(?:'{3}|\Z)|"(?:[^"\\\n]|\\.?)*"?|'[^'\n]*'?|\#[^\n]*''',
    re.DOTALL,
)
_DOTTED_RE = re.compile(r"[\w-]+(?:[ \t]*\.[ \t]*[\w-]+)*")
ACCEPTED = ("cause", "marker", "reason", "owner", "expires", "saves_ms")


class Accepted(Struct, frozen=True):
    """A root cause that is known and left as it is. expires: ISO date. saves_ns: when it was accepted; None: any.

    expired: as of the day the file was read; it then stands in the list like any other.
    """

    cause: str
    reason: str
    owner: str
    expires: str
    marker: str = ""
    saves_ns: float | None = None
    expired: bool = False


class Project(Struct, frozen=True):
    """A project's file. budgets: (glob, ns). owners: (glob, owner), the first that fits. sets: RULE.threshold=VALUE.

    columns: (header, metric) of custom tables. needs: bytes or operations per launch.
    """

    path: str = ""
    scope: str = ""
    rules: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    needs: tuple[Need, ...] = ()
    budgets: tuple[tuple[str, float], ...] = ()
    owners: tuple[tuple[str, str], ...] = ()
    accepted: tuple[Accepted, ...] = ()

    def changes(self) -> str:
        """What it says that may change an answer, in one line; "" for nothing."""
        parts = (
            ("scope", [self.scope] if self.scope else []),
            ("rules", self.rules),
            ("thresholds", self.sets),
            ("columns", [f"{header}={metric}" for header, metric in self.columns]),
            ("needs", [str(n) for n in self.needs]),
            ("budgets", [glob for glob, _ in self.budgets]),
            ("accepted", [a.cause for a in self.accepted]),
        )
        stated = [f"{key} {first_of(values, 5, ' and ')}" for key, values in parts if values]
        return f"settings from {self.path}: {'; '.join(stated)}" if stated else ""


def find(
    start: Path, environment: Mapping[str, str] = os.environ, named: str = ""
) -> tuple[Path, dict[str, Any]] | None:
    """The project's file and its table, or None; raise TriageError for one that cannot be read. named: by --config."""
    if given := named or environment.get(VARIABLE, ""):
        if given == "off":
            return None
        table = _table(Path(given))
        return Path(given), table if table is not None else {}
    for path in _candidates(start):
        if not foreign(path) and (table := _table(path)) is not None:
            return path, table
    return None


def _candidates(start: Path) -> list[Path]:
    """Files that may be the project's, nearest first."""
    folders = [start, *start.parents]
    root = next((i for i, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    paths = [folder / name for folder in folders[: root + 1] for name in (NAME, "pyproject.toml")]
    return [p for p in paths if p.is_file()]


def foreign(path: Path) -> bool:
    """True if the file or its folder belongs to another user, who could change answers; root could anyway."""
    try:
        # of a link, too: in a folder for all it may name another file of this user
        owners = {path.lstat().st_uid, path.stat().st_uid, path.parent.stat().st_uid}
    except OSError:
        return True
    return hasattr(os, "geteuid") and not owners <= {os.geteuid(), ROOT}


def passed_over(start: Path, environment: Mapping[str, str] = os.environ, named: str = "") -> list[str]:
    """Settings files that are not read because another user owns them, a line each."""
    if named or environment.get(VARIABLE, ""):
        return []
    found = [p for p in _candidates(start) if p.name == NAME and foreign(p)]
    return [f"{p}: not read, another user owns it or its folder - to read it: --config {p}" for p in found]


def _checked(text: str) -> str:
    """The text; raise ValueError where keys or brackets are nested deeper than MAX_DEPTH."""
    plain = _TEXT_RE.sub("q", text)
    if any(m[0].count(".") >= MAX_DEPTH for m in _DOTTED_RE.finditer(plain)):
        raise ValueError(f"keys of more than {MAX_DEPTH} parts")
    depth = 0
    for m in re.finditer(r"[\[\]{}]", plain):
        depth = max(0, depth + (1 if m[0] in "[{" else -1))
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    return text


def _table(path: Path) -> dict[str, Any] | None:
    """The settings in a file; None where a pyproject.toml has none."""
    try:
        found = tomllib.loads(_checked(bounded.read(path, LARGEST).decode("utf-8").replace("\r\n", "\n")))
    except (ValueError, RecursionError) as e:
        if path.name == "pyproject.toml":
            # another tool's file, and broken: that tool reports it
            return None
        raise TriageError(f"{path}: {e}", "see docs/project.md") from e
    except OSError as e:
        raise TriageError(f"{path}: cannot be read ({e.strerror or e})", f"correct it, or set {VARIABLE}=off") from e
    if path.name != "pyproject.toml":
        return found
    table = found.get("tool", {}).get("triage") if isinstance(found.get("tool"), dict) else None
    return table if isinstance(table, dict) else None


def load(
    today: date, start: Path | None = None, environment: Mapping[str, str] = os.environ, named: str = ""
) -> Project:
    """The project around a folder (default: here). today: what has expired. Raises TriageError with the key that is wrong."""
    found = find(start or Path.cwd(), environment, named)
    return Project() if found is None else parse(*found, today)


def parse(path: Path, table: Mapping[str, Any], today: date) -> Project:
    """A Project of a table; raises TriageError with the key that is wrong."""
    where = str(path)
    _known(where, "", table, KNOWN)
    for key, kind in KNOWN.items():
        if key in table and not isinstance(table[key], kind):
            raise _wrong(where, key, f"must be a {'table' if kind is dict else 'list' if kind is list else 'text'}")
    rules = []
    for n, rule in enumerate(table.get("rules", ())):
        folder = path.parent / rule if isinstance(rule, str) else None
        if folder is None or not os.path.exists(folder):
            raise _wrong(where, f"rules[{n}]", f"{rule!r} is no folder or file beside it")
        rules.append(str(folder))
    budgets = table.get("budgets", {})
    return Project(
        path=where,
        scope=table.get("scope", ""),
        rules=tuple(rules),
        sets=tuple(f"{k}={v}" for k, v in _flat(table.get("thresholds", {}))),
        columns=tuple((header, _metric(path, header, metric)) for header, metric in table.get("columns", {}).items()),
        needs=tuple(
            need(glob, _text(where, f"needs.{glob}", s), f"{where}: needs.{glob}")
            for glob, s in table.get("needs", {}).items()
        ),
        budgets=tuple((glob, _ms(where, f"budgets.{glob}", _part(budget, "ms"))) for glob, budget in budgets.items()),
        owners=(
            *(
                (glob, _text(where, f"budgets.{glob}.owner", budget["owner"]))
                for glob, budget in budgets.items()
                if isinstance(budget, dict) and "owner" in budget
            ),
            *((glob, _text(where, f"owners.{glob}", who)) for glob, who in table.get("owners", {}).items()),
        ),
        accepted=tuple(_accepted(where, n, entry, today) for n, entry in enumerate(table.get("accepted", ()))),
    )


def _part(budget: object, key: str) -> object:
    """A budget's number, which may stand in a table beside its owner."""
    return budget.get(key) if isinstance(budget, dict) else budget


def _flat(table: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """`[thresholds.MEM003] sector = ...` says the same as `"MEM003.sector" = ...`."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _accepted(where: str, n: int, entry: object, today: date) -> Accepted:
    at = f"accepted[{n}]"
    if not isinstance(entry, dict):
        raise _wrong(where, at, "must be a table")
    _known(where, f"{at}.", entry, ACCEPTED)
    for key in ("cause", "reason", "owner", "expires"):
        if not entry.get(key):
            raise _wrong(where, at, f"has no {key}: whatever is accepted says why, by whom and until when")
    expires = entry["expires"]
    if isinstance(expires, str):
        try:
            expires = date.fromisoformat(expires)
        except ValueError as e:
            raise _wrong(where, f"{at}.expires", f"{expires!r} is no date, such as 2027-03-31") from e
    if not isinstance(expires, date):
        raise _wrong(where, f"{at}.expires", "must be a date, such as 2027-03-31")
    day = date(expires.year, expires.month, expires.day)
    keys = ("cause", "reason", "owner", "marker")
    cause, reason, owner, marker = (_text(where, f"{at}.{key}", entry.get(key, "")) for key in keys)
    saves = _ms(where, f"{at}.saves_ms", entry["saves_ms"]) if "saves_ms" in entry else None
    return Accepted(cause, reason, owner, day.isoformat(), marker, saves, day < today)


def _known(where: str, before: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, list(known), 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            if key == "dialects":  # a file found by walking up must not run code
                hint = "dialects are code: give them on the command line, --dialects DIR"
            raise _wrong(where, f"{before}{key}", "is no setting", hint)


def _text(where: str, key: str, value: object, hint: str = "see docs/project.md") -> str:
    if not isinstance(value, str):
        raise _wrong(where, key, "must be a text", hint)
    return value


def _metric(path: Path, header: str, metric: object) -> str:
    """A canonical metric; raises TriageError with its line in the file and the likely metric."""
    from triage import schema

    line = _line(path, header)
    where = f"{path}:{line}" if line else str(path)
    name = _text(where, f"columns.{header}", metric, "a header with dots stands in quotes")
    if schema.is_target(name):
        return name
    close = schema.close(name)
    raise _wrong(where, f"columns.{header}", f"{name!r} is no metric", f"did you mean {close[0]!r}?" if close else "see: triage list metrics")  # fmt: skip


def _line(path: Path, key: str) -> int:
    """1-based line on which a file sets a key, 0 where none does so plainly."""
    spellings = (json.dumps(key, ensure_ascii=False), f"'{key}'", key)
    with suppress(OSError, UnicodeDecodeError, bounded.TooLarge):
        for number, line in enumerate(bounded.read(path, LARGEST).decode("utf-8").splitlines(), 1):
            if any(line.strip().startswith(s) and line.strip()[len(s) :].lstrip().startswith("=") for s in spellings):
                return number
    return 0


def _ms(where: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise _wrong(where, key, f"{value!r} is no number of milliseconds")
    return float(value) * 1e6


def _wrong(where: str, key: str, what: str, hint: str = "see docs/project.md") -> TriageError:
    return TriageError(f"{where}: {key} {what}", hint)
