"""SARIF and GitHub annotations: their structure, their places, and names that try to break out of them."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from msgspec.structs import replace

from tests.conftest import SAMPLES
from tests.helpers.reports import DEMO, diagnosed, hostile, text
from triage.products import accepted
from triage.products.project import Accepted
from triage.rendering import formats

REPORT = SAMPLES / "ncu-rep" / "transpose.ncu-rep"
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
FILE = {"type": "object", "required": ["uri"], "properties": {"uri": {"type": "string", "pattern": r"^[^\s\\<>\"]+$"}}}
# what the schema of OASIS requires of the objects that are written here, and the words that it allows
SCHEMA = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}, "minItems": 1},
    },
    "$defs": {
        "run": {
            "type": "object",
            "required": ["tool", "results"],
            "properties": {
                "tool": {
                    "type": "object",
                    "required": ["driver"],
                    "properties": {
                        "driver": {
                            "type": "object",
                            "required": ["name", "semanticVersion", "rules"],
                            "properties": {"rules": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/rule"}}},
                        }
                    },
                },
                "artifacts": {"type": "array", "items": {"required": ["location"], "properties": {"location": FILE}}},
                "invocations": {
                    "type": "array",
                    "items": {
                        "required": ["executionSuccessful"],
                        "properties": {"toolExecutionNotifications": {"type": "array", "items": {"$ref": "#/$defs/result"}}},
                    },
                },
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
            },
        },
        "rule": {
            "type": "object",
            "required": ["id"],
            "properties": {"shortDescription": TEXT, "fullDescription": TEXT, "helpUri": {"pattern": "^https://"}},
        },
        "result": {
            "type": "object",
            "required": ["message"],
            "properties": {
                "message": TEXT,
                "level": {"enum": ["none", "note", "warning", "error"]},
                "rank": {"type": "number", "minimum": -1, "maximum": 100},
                "ruleIndex": {"type": "integer", "minimum": -1},
                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                "suppressions": {"type": "array", "items": {"required": ["kind"], "properties": {"kind": {"enum": ["inSource", "external"]}}}},
            },
        },
        "location": {
            "properties": {
                "message": TEXT,
                "physicalLocation": {
                    "required": ["artifactLocation"],
                    "properties": {
                        "artifactLocation": FILE,
                        "region": {"properties": {"startLine": {"type": "integer", "minimum": 1}}},
                    },
                },
            }
        },
    },
}  # fmt: skip


def sarif(path: object) -> dict[str, Any]:
    run: dict[str, Any] = checked(text(diagnosed(str(path)), "sarif"))
    return run


def checked(written: str) -> Any:
    log = json.loads(written)
    jsonschema.Draft202012Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return run


def test_a_result_is_an_item_with_its_fingerprint_and_place() -> None:
    for path in (DEMO, REPORT):
        todo = diagnosed(str(path)).todo
        results = sarif(path)["results"]
        assert [r["ruleId"] for r in results] == [i["cause"] for i in todo]
        assert [list(r["partialFingerprints"].values()) for r in results] == [[i["fingerprint"]] for i in todo]
    place = sarif(REPORT)["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "file:///home/me/src/transpose.cu"}, "region": {"startLine": 13}}
    # without lines of source: the cell of the capture that decides
    cell = sarif(DEMO)["results"][0]["locations"][0]["physicalLocation"]
    lines = Path(unquote(cell["artifactLocation"]["uri"].removeprefix("file://"))).read_text("utf-8").splitlines()
    assert "91.4" in lines[cell["region"]["startLine"] - 1]


def test_an_accepted_item_is_suppressed_and_not_annotated() -> None:
    b = diagnosed(str(DEMO)).bundle
    reason = Accepted(
        cause=b.todo[0]["cause"], reason="by design", owner="us", expires="2099-01-01", marker="", saves_ns=None, expired=False
    )  # fmt: skip
    b = accepted.apply(replace(b), [reason])
    parts: dict[str, list[str]] = {"sarif": [], "github": []}
    for form, written in parts.items():
        formats.render(b, form, written.append)
    results = checked("".join(parts["sarif"]))["results"]
    assert [bool(r.get("suppressions")) for r in results] == [True] + [False] * (len(results) - 1)
    items = [line for line in parts["github"] if " title=triage::" not in line]
    assert len(items) == len(b.todo) - 1 and b.todo[0]["title"] not in items[0]


def test_annotations_stand_at_the_source_line() -> None:
    first = text(diagnosed(str(REPORT)), "github").splitlines()[0]
    assert first.startswith("::error file=/home/me/src/transpose.cu,line=13,title=Uncoalesced global stores::")
    assert "27 %25" in first


@pytest.mark.parametrize("form", ["sarif", "github"])
def test_no_name_breaks_out(form: str, tmp_path: Path) -> None:
    out = text(diagnosed(str(hostile(tmp_path / "h,a:b.csv"))), form)
    if form == "sarif":
        checked(out)
    else:
        line = r"::(?:error|warning|notice) file=[^,:\n]+(?:,line=\d+)?,title=[^,:\n]+::[^\n]+"
        assert all(re.fullmatch(line, x) for x in out.splitlines())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]", out)
