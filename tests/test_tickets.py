"""Tickets: one per root cause, the same fingerprint tomorrow, bodies that fit and cannot be hijacked."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.conftest import diagnosis, generic
from triage.diagnosis.identity import of_item
from triage.ground.errors import TriageError
from triage.products.tickets import tickets


def file(*args: object) -> Result:
    from triage.commands.cli import triage as verbs

    return CliRunner().invoke(verbs, ["tickets", *map(str, args)], standalone_mode=False)


PASSES: list[dict[str, Any]] = [
    # six kinds of ill passes, each clear of its thresholds, so that noise changes numbers and not the picture
    *(
        {"name": f"Blur{i}", "sm.throughput": 55, "l1tex.throughput": 92, "l2.throughput": 30, "vram.throughput": 20}
        for i in range(3)
    ),
    *(
        {"name": f"Copy{i}", "sm.throughput": 20, "l1tex.throughput": 25, "l2.throughput": 45, "vram.throughput": 88}
        for i in range(3)
    ),
    *(
        {"name": f"Reflect{i}", "sm.throughput": 40, "l1tex.throughput": 39, "l2.throughput": 12, "vram.throughput": 10}
        for i in range(4)
    ),
    *(
        {
            "name": f"Starved{i}",
            "sm.throughput": 15,
            "l1tex.throughput": 12,
            "l2.throughput": 10,
            "vram.throughput": 9,
            "gpu.idle": 45,
        }
        for i in range(2)
    ),
]


def frame(path: Path, noise: float = 0.0, seed: int = 0) -> Path:
    r = random.Random(seed)
    rows = []
    for n, p in enumerate(PASSES):
        full = {
            "gpu.time": 1.0 + n / 10,
            "l1tex.hit_rate": 60,
            "l2.hit_rate": 55,
            "sm.active": 98,
            "gpu.idle": 0.2,
            **p,
        }
        rows.append(
            {
                k: v if isinstance(v, str) else round(min(99.9, v * (1 + r.uniform(-noise, noise))), 4)
                for k, v in full.items()
            }
        )
    return generic(path, rows)


def prints(path: Path, **options: Any) -> list[str]:
    return [t.fingerprint for t in tickets.make(diagnosis(path).bundle, **options)]


def test_fingerprints_stay_under_five_percent_noise(tmp_path: Path) -> None:
    calm = prints(frame(tmp_path / "calm.csv"))
    assert len(calm) == len(set(calm)) >= 4
    for seed in range(8):
        noisy = prints(frame(tmp_path / f"noisy{seed}.csv", 0.05, seed))
        assert len(noisy) == len(calm)
        assert set(noisy) == set(calm)


def test_a_value_at_its_threshold_opens_no_ticket_but_keeps_one(tmp_path: Path) -> None:
    d = diagnosis(generic(tmp_path / "a.csv", [{"name": "Pass", "gpu.time": 1, "gpu.idle": 1.02}]))  # SOL003: above 1 %
    near = {f.rule.id for f in d.findings}
    assert near == {"SOL003"}
    fresh = {t.rule for t in tickets.make(d.bundle, least=0.001)}
    assert not near & fresh
    old = [{"fingerprint": of_item(f.rule.cause, ""), "title": "x"} for f in d.findings]
    assert near & {t.rule for t in tickets.make(d.bundle, least=0.001, old=old)}


def test_with_since_what_only_wavers_stays(tmp_path: Path) -> None:
    first = file(frame(tmp_path / "a.csv"), "-o", tmp_path / "t0")
    assert first.exit_code == 0, first.exception
    listed = tickets.read_old(tmp_path / "t0" / "tickets.json")
    edge = sorted(t["share"] for t in listed)[0]
    d = diagnosis(frame(tmp_path / "a.csv"))
    above = edge * 1.5
    assert len(tickets.make(d.bundle, least=above)) < len(listed)
    assert {t.fingerprint for t in tickets.make(d.bundle, least=above, old=listed)} >= {
        t["fingerprint"] for t in listed if t["share"] >= above / 2
    }


def test_the_contract_and_the_files(tmp_path: Path) -> None:
    result = file(frame(tmp_path / "a.csv"), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    listing = json.loads((tmp_path / "out" / "tickets.json").read_text())
    assert listing["schema"] == "triage-tickets/1"
    saved = [t["saved_ns"] for t in listing["tickets"]]
    assert saved == sorted(saved, reverse=True)
    for t in listing["tickets"]:
        assert {"fingerprint", "title", "rule", "workloads", "saved_ns", "files"} <= set(t)
        for name in t["files"]:
            assert (tmp_path / "out" / name).is_file()
        assert any(f.endswith("ticket.md") for f in t["files"])
        assert any(f.endswith("ticket.jira.txt") for f in t["files"])
        body = (tmp_path / "out" / next(f for f in t["files"] if f.endswith("ticket.md"))).read_text()
        assert t["fingerprint"] in body
        assert len(body.splitlines()) <= 60
        for part in ("### Evidence", "### What to try", "### How to verify"):
            assert part in body
        evidence = json.loads(
            (tmp_path / "out" / next(f for f in t["files"] if f.endswith("evidence.json"))).read_text()
        )
        assert len(evidence["findings"]) == len(t["workloads"])
        assert "a.csv" in body
    assert (tmp_path / "out" / "diagnosis.json").is_file()


def test_the_same_capture_gives_the_same_bytes(tmp_path: Path) -> None:
    path = frame(tmp_path / "a.csv")
    for out in ("one", "two"):
        file(path, "-o", tmp_path / out)
    one, two = (
        sorted((p.relative_to(tmp_path / out), p.read_bytes()) for p in (tmp_path / out).rglob("*") if p.is_file())
        for out in ("one", "two")
    )
    assert one == two


def test_what_is_gone_is_reported_and_its_files_go(tmp_path: Path) -> None:
    file(frame(tmp_path / "a.csv"), "-o", tmp_path / "t")
    old = tickets.read_old(tmp_path / "t" / "tickets.json")
    (tmp_path / "since.json").write_text((tmp_path / "t" / "tickets.json").read_text())
    calm = generic(
        tmp_path / "b.csv",
        [{"name": "Blur0", "gpu.time": 1, "sm.throughput": 94, "vram.throughput": 20, "gpu.idle": 0}],
    )
    result = file(calm, "-o", tmp_path / "t", "--since", tmp_path / "since.json")
    listing = json.loads((tmp_path / "t" / "tickets.json").read_text())
    now = {t["fingerprint"] for t in listing["tickets"]}
    assert {g["fingerprint"] for g in listing["gone"]} == {t["fingerprint"] for t in old} - now
    assert listing["gone"]
    assert result.stdout.count("gone: ") == len(listing["gone"])
    assert len(list((tmp_path / "t").glob("*/ticket.md"))) == len(now)


def test_scope_and_root_keep_projects_apart(tmp_path: Path) -> None:
    path = frame(tmp_path / "a.csv")
    assert not set(prints(path)) & set(prints(path, scope="another game"))
    rows = path.read_text().splitlines()
    for number in (17, 4711):
        nested = [f"path,{rows[0]}", *(f"Frame {number},{r}" for r in rows[1:])]
        (tmp_path / f"f{number}.csv").write_text("\n".join(nested) + "\n")
    assert prints(tmp_path / "f17.csv") == prints(tmp_path / "f4711.csv") != prints(path)


def test_several_captures_of_one_frame_make_one_ticket_per_cause(tmp_path: Path) -> None:
    paths = [frame(tmp_path / f"{i}.csv", 0.01, i) for i in range(3)]
    found = tickets.make(diagnosis(*paths).bundle)
    assert {t.fingerprint for t in found} == set(prints(paths[0]))
    one = {t.fingerprint: len(t.workloads) for t in tickets.make(diagnosis(paths[0]).bundle)}
    assert all(len(t.workloads) > one[t.fingerprint] for t in found)


HOSTILE = "a|b `c` @everyone #12 <script>alert(1)</script> [x](http://evil) {panel} *b* $x$ \u202e gpj"


def test_names_cannot_break_tables_call_people_or_link_issues(tmp_path: Path) -> None:
    rows = [{**p, "name": f"{HOSTILE} {i}", "gpu.time": 1.0, "crop.throughput": 5} for i, p in enumerate(PASSES)]
    for t in tickets.make(diagnosis(generic(tmp_path / "a.csv", rows)).bundle):
        body = t.body("markdown", 65_536)
        table = [line for line in body.splitlines() if line.startswith("| `")]
        assert table
        for line in table:
            assert line.replace("\\|", "").count("|") == 6
        outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
        assert "@everyone" not in outside
        assert "<script" not in outside
        assert "\u202e" not in body
        assert "\n" not in t.title
        assert len(t.title) <= 200
        wiki = t.body("jira", 32_767)
        assert "{panel}" not in wiki.replace("\\{", "")
        for line in wiki.splitlines():
            if line.startswith("| "):
                assert line.replace("\\|", "").count("|") == 6


@pytest.mark.parametrize("limit", [65_536, 32_767, 6_000, 3_500, 2_200])
def test_bodies_fit_by_folding_whole_rows(tmp_path: Path, limit: int) -> None:
    rows = [
        {**PASSES[i % len(PASSES)], "name": f"{'very long pass name ' * 8}{i}", "gpu.time": 1.0, "crop.throughput": 5}
        for i in range(60)
    ]
    for t in tickets.make(diagnosis(generic(tmp_path / "a.csv", rows)).bundle):
        for markup in ("markdown", "jira"):
            body = t.body(markup, limit)
            assert len(body) <= limit
            assert t.fingerprint in body
            for line in body.splitlines():
                if line.startswith("|"):
                    assert line.endswith("|"), "a table was cut"
            shown = sum(line.startswith(("| `very", "| very")) for line in body.splitlines())
            if shown < len(t.workloads):
                assert "evidence.json" in body


def test_bodies_that_cannot_fit_are_an_error(tmp_path: Path) -> None:
    t = tickets.make(diagnosis(frame(tmp_path / "a.csv")).bundle)[0]
    with pytest.raises(TriageError, match="does not fit"):
        t.body("markdown", 100)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "other/1", "tickets": []}', '{"schema": "triage-tickets/1", "tickets": [1]}']
)
def test_a_wrong_since_file_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "old.json").write_text(text)
    result = file(frame(tmp_path / "a.csv"), "-o", tmp_path / "t", "--since", tmp_path / "old.json")
    assert isinstance(result.exception, TriageError)


def test_old_listings_cannot_delete_other_files(tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("mine")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "own.txt").write_text("mine")
    entry = {
        "fingerprint": "0" * 16,
        "title": "x",
        "files": ["../keep.txt", "own.txt", "/etc/hostname", "a/../../keep.txt"],
    }
    (tmp_path / "t" / "tickets.json").write_text(json.dumps({"schema": "triage-tickets/1", "tickets": [entry]}))
    file(frame(tmp_path / "a.csv"), "-o", tmp_path / "t")
    assert (tmp_path / "keep.txt").is_file()
    assert (tmp_path / "t" / "own.txt").is_file()


def test_a_bad_file_is_said_and_the_others_are_filed(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(b"\0\1\2" * 99)
    result = file(frame(tmp_path / "a.csv"), tmp_path / "bad.csv", "-o", tmp_path / "t")
    assert result.return_value == 2
    assert tickets.read_old(tmp_path / "t" / "tickets.json")


def test_captures_without_times_still_give_tickets(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", [{"name": "k", "sm.throughput": 20, "vram.throughput": 15, "gpu.idle": 40}])
    found = tickets.make(diagnosis(path).bundle)
    assert found
    assert all(t.saved_ns is None for t in found)
    assert "None" not in "".join(t.body("markdown", 65_536) + t.title for t in found)
