"""Tickets: one per root cause, the same fingerprint tomorrow, bodies that fit and cannot be hijacked."""

import json
import random
import re
from pathlib import Path
from typing import Any

import jira2markdown
import pytest
from click.testing import CliRunner, Result
from jira2markdown.elements import MarkupElements
from jira2markdown.markup.base import AbstractMarkup
from markdown_it import MarkdownIt
from msgspec.structs import replace
from pyparsing import Regex

from tests.conftest import SAMPLES, diagnosis, generic
from tests.helpers.reports import jira_faults
from triage.diagnosis import blind_spots
from triage.ground.errors import TriageError
from triage.products import accepted, budgets
from triage.products.project import Accepted
from triage.products.tickets import compose, ticket_folder
from triage.products.tickets import text as ticket_text
from triage.products.tickets.states import assign_states


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
    return [t.fingerprint for t in compose.make(diagnosis(path).bundle, **options)]


def test_fingerprints_stay_under_five_percent_noise(tmp_path: Path) -> None:
    calm = prints(frame(tmp_path / "calm.csv"))
    assert len(calm) == len(set(calm)) >= 4
    for seed in range(8):
        noisy = prints(frame(tmp_path / f"noisy{seed}.csv", 0.05, seed))
        assert len(noisy) == len(calm)
        assert set(noisy) == set(calm)


def test_a_value_at_its_threshold_has_its_ticket_as_it_has_its_item(tmp_path: Path) -> None:
    row = {"name": "Pass", "gpu.time": 1, "copy.sync_active": 5.1}  # GFX020: above 5 %
    d = diagnosis(generic(tmp_path / "a.csv", [row]))
    near = {f.rule.id for f in d.findings}
    assert near == {"GFX020"}
    assert near == {t.rule for t in compose.make(d.bundle, least=0.001)} == {i["rule"] for i in d.bundle.todo}


def test_with_since_what_only_wavers_stays(tmp_path: Path) -> None:
    first = file(frame(tmp_path / "a.csv"), "-o", tmp_path / "t0")
    assert first.exit_code == 0, first.exception
    listed = ticket_folder.read_old(tmp_path / "t0" / "tickets.json")
    edge = sorted(t["share"] for t in listed)[0]
    d = diagnosis(frame(tmp_path / "a.csv"))
    above = edge * 1.5
    assert len(compose.make(d.bundle, least=above)) < len(listed)
    assert {t.fingerprint for t in compose.make(d.bundle, least=above, old=listed)} >= {
        t["fingerprint"] for t in listed if t["share"] >= above / 2
    }


def test_the_contract_and_the_files(tmp_path: Path) -> None:
    result = file(frame(tmp_path / "a.csv"), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    listing = json.loads((tmp_path / "out" / "tickets.json").read_text())
    assert listing["schema"] == "triage-tickets/1"
    saved = [t["saved_ns"] for t in listing["tickets"]]
    assert saved == sorted(saved, reverse=True)
    rest = listing["left_out"]
    assert rest["items"] == len(rest["each"]) and all(i["title"] and i["why"] for i in rest["each"])
    for t in listing["tickets"]:
        assert {"fingerprint", "title", "rule", "workloads", "saved_ns", "files"} <= set(t)
        for name in t["files"]:
            assert (tmp_path / "out" / name).is_file()
        assert any(f.endswith("ticket.md") for f in t["files"])
        assert any(f.endswith("ticket.jira.txt") for f in t["files"])
        body = (tmp_path / "out" / next(f for f in t["files"] if f.endswith("ticket.md"))).read_text()
        assert t["fingerprint"] in body
        assert len(body.splitlines()) <= 40
        assert body.startswith(f"# {t['title']}\n\n") and "not set" not in body
        assert len(t["title"]) <= 80
        label = "Try" if t["title"].startswith("Suspected ") else "Fix"
        assert f"**{label}:**" in body or "**Investigate:**" in body
        for part in ("**Saves:**", "**In:**", "**Verify:**", "| Marker |", "<details>"):
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


def states(out: Path) -> dict[str, str]:
    """fingerprint -> state, of all that a run knows."""
    listing = json.loads((out / "tickets.json").read_text())
    return {t["fingerprint"]: t["state"] for t in (*listing["tickets"], *listing["missing"])}


def healed(path: Path) -> Path:
    """The same workloads with every illness cured."""
    well = {"sm.throughput": 88, "l1tex.throughput": 30, "l2.throughput": 30, "vram.throughput": 20, "gpu.idle": 0.1,
            "l1tex.hit_rate": 97, "l2.hit_rate": 97, "sm.active": 99, "gpu.time": 1.0}  # fmt: skip
    return generic(path, [{"name": p["name"], **well} for p in PASSES])


@pytest.mark.slow
def test_states_from_run_to_run(tmp_path: Path) -> None:
    ill = frame(tmp_path / "ill.csv")
    assert file(ill, "-o", tmp_path / "t0").exit_code == 0
    first = states(tmp_path / "t0")
    assert set(first.values()) == {"new"}

    def run(capture: Path, out: str, since: str, *options: object) -> dict[str, str]:
        result = file(capture, "-o", tmp_path / out, "--since", tmp_path / since / "tickets.json", *options)
        assert result.exit_code == 0, result.exception
        assert all(line.split()[1] in result.stdout for line in result.stdout.splitlines())
        return states(tmp_path / out)

    assert set(run(ill, "t1", "t0").values()) == {"open"}
    fixed = run(healed(tmp_path / "well.csv"), "t2", "t1")
    assert set(fixed) >= set(first) and {fixed[f] for f in first} == {"fixed"}
    listing = json.loads((tmp_path / "t2" / "tickets.json").read_text())
    assert {g["fingerprint"] for g in listing["gone"]} == set(first)
    assert len(list((tmp_path / "t2").glob("*/ticket.md"))) == len(listing["tickets"])
    # what was fixed and comes back is reopened, and says so
    back = run(ill, "t3", "t2")
    assert {back[f] for f in first} == {"reopened"}
    assert all("Reopened" in p.read_text() for p in (tmp_path / "t3").glob("*/ticket.md"))
    # three times the time of one pass is another number worth saying
    rows = ill.read_text().splitlines()
    place = (
        rows[0].split(",").index("gpu.time [ms]")
        if "gpu.time [ms]" in rows[0]
        else rows[0].split(",").index("gpu.time")
    )
    slow = [
        rows[0],
        *(",".join(f"{float(c) * 3}" if k == place else c for k, c in enumerate(r.split(","))) for r in rows[1:]),
    ]
    (tmp_path / "slow.csv").write_text("\n".join(slow) + "\n")
    assert {run(tmp_path / "slow.csv", "t4", "t0")[f] for f in first} == {"changed"}


@pytest.mark.slow
def test_another_capture_fixes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ill = frame(tmp_path / "ill.csv")
    file(ill, "-o", tmp_path / "t0", "--scope", "game")
    since = ("--since", tmp_path / "t0" / "tickets.json")
    other = generic(
        tmp_path / "other.csv", [{"name": "Menu", "gpu.time": 1, "sm.throughput": 94, "vram.throughput": 20}]
    )
    # another scope, or the same without the workloads
    for out, scope, why in (("u0", "tool", "different scope"), ("u1", "game", "workloads not in this capture")):
        result = file(other, "-o", tmp_path / out, "--scope", scope, *since)
        listing = json.loads((tmp_path / out / "tickets.json").read_text())
        assert listing["gone"] == [] and {m["state"] for m in listing["missing"]} == {"not checked"}
        assert why in result.stdout and "fixed" not in result.stdout
    # the same workloads without the counters that would show it
    names = generic(tmp_path / "bare.csv", [{"name": p["name"], "gpu.time": 1.0} for p in PASSES])
    file(names, "-o", tmp_path / "u2", "--scope", "game", *since)
    listing = json.loads((tmp_path / "u2" / "tickets.json").read_text())
    assert {m["state"] for m in listing["missing"]} == {"not checked"}
    # nor are they fixed where so many wait that only the first are named
    monkeypatch.setattr(blind_spots, "MAX_LISTED_WORKLOADS", 1)
    file(names, "-o", tmp_path / "u4", "--scope", "game", *since)
    listing = json.loads((tmp_path / "u4" / "tickets.json").read_text())
    assert {m["state"] for m in listing["missing"]} == {"not checked"}
    # what was not checked is still known to the next run
    file(ill, "-o", tmp_path / "u3", "--scope", "game", "--since", tmp_path / "u2" / "tickets.json")
    assert set(states(tmp_path / "u3").values()) == {"open"}


def test_posting_needs_a_scope(tmp_path: Path) -> None:
    result = file(frame(tmp_path / "a.csv"), "-o", tmp_path / "t", "--post", "github", "--project", "a/b")
    assert isinstance(result.exception, TriageError) and "--scope" in str(result.exception)
    assert not (tmp_path / "t").exists()


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
    found = compose.make(diagnosis(*paths).bundle)
    assert {t.fingerprint for t in found} == set(prints(paths[0]))
    one = {t.fingerprint: len(t.workloads) for t in compose.make(diagnosis(paths[0]).bundle)}
    assert all(len(t.workloads) > one[t.fingerprint] for t in found)


HOSTILE = "a|b `c` @everyone #12 <script>alert(1)</script> [x](http://evil) {panel} *b* $x$ \u202e gpj"


OURS = re.compile(r"\{\{[\w ]+\}\}|\[https?://[^\]\s]+\]")  # a command and the links to sources, in Jira markup


def rendered(markdown: str, html: bool = True) -> Any:
    """Tokens as GitHub sees them: tables, bare addresses, and raw HTML, which Jira shows as text."""
    return MarkdownIt("gfm-like", {"html": html}).parse(markdown)


def of_type(tokens: Any, kind: str) -> list[Any]:
    inline = [c for t in tokens for c in t.children or ()]
    return [t for t in [*tokens, *inline] if t.type == kind]


def live(tokens: Any) -> list[str]:
    """What a reader could follow or what would be run."""
    raw = [t.content.strip() for t in [*of_type(tokens, "html_block"), *of_type(tokens, "html_inline")]]
    known = re.compile(r"(</?details>|<summary>[^<]*</summary>|\s)*")
    links = [str(t.attrs["href"]) for t in of_type(tokens, "link_open")]
    return (
        [r for r in raw if not known.fullmatch(r)]
        + [x for x in links if "evil" in x]
        + [t.content for t in of_type(tokens, "image")]
    )


class Words(AbstractMarkup):
    """Runs of words, in which no markup begins: looked at once, not once for each letter and kind of markup."""

    is_inline_element = True
    expr = Regex(r"(?!http|ftp|file|mailto|color|quote|code|panel|noformat)[A-Za-z]{3,}[A-Za-z ]*(?=[A-Za-z ])")


ELEMENTS = MarkupElements()
ELEMENTS.insert(0, Words)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["demo", "hostile", "kernels", "untimed"])
def test_trackers_render_one_screen_and_nothing_of_the_capture_is_live(which: str, tmp_path: Path) -> None:
    rows = [{**p, "name": f"{HOSTILE} {i}", "gpu.time": 1.0, "crop.throughput": 5} for i, p in enumerate(PASSES)]
    bare = {"name": "k", "sm.throughput": 20, "vram.throughput": 15, "gpu.idle": 40}
    path = {
        "demo": SAMPLES / "gpu-trace" / "demo_frame",
        "kernels": SAMPLES / "ncu-raw" / "transpose.raw.csv",
        "untimed": tmp_path / "a.csv",
        "hostile": tmp_path / "a.csv",
    }[which]
    if which in ("hostile", "untimed"):
        generic(path, rows if which == "hostile" else [bare])
    found = compose.make(diagnosis(path).bundle)
    assert found
    for t in found:
        body, wiki = ticket_text.body(t, "markdown", 65_536), ticket_text.body(t, "jira", 32_767)
        outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
        assert "@everyone" not in outside and "\u202e" not in body + wiki + t.title
        assert "\n" not in t.title and len(t.title) <= 200
        assert "{panel}" not in wiki.replace("\\{", "") and jira_faults(OURS.sub("", wiki)) == []
        # GitHub as it stands; Jira through the converter that people migrate with
        converted = jira2markdown.convert(wiki, elements=ELEMENTS)
        assert which != "untimed" or converted == jira2markdown.convert(wiki)
        for tokens in (rendered(body), rendered(converted, html=False)):
            assert live(tokens) == []
            heads = of_type(tokens, "th_open")
            # what is of the whole capture has one line of evidence, and no place of its own
            cells = len(of_type(tokens, "td_open"))
            assert (len(heads) == 4 and cells in (4, 8, 12)) or (
                t.cause["scope"] == "frame" and not heads and not cells
            )
        # no heading of a table is empty, and the first screen says what, how much, where, why, verify
        seen = rendered(body)
        named = [seen[i + 1].content for i, t in enumerate(seen) if t.type == "th_open"]
        assert all(named)
        screen = body.partition("<details>")[0]
        assert len(screen.splitlines()) <= 25 and len(body.splitlines()) <= 40
        assert any(f"**{word}:**" in screen for word in ("Fix", "Try", "Investigate"))
        assert all(word in screen for word in ("**Saves:**", "**Verify:**"))
        assert ("**In:**" in screen) != all(n == "frame" for n in t.cause["names"])
        # the cell of each row keeps line and column
        lines = [r for r in body.splitlines() if r.startswith("| `") and not r.startswith("| `the whole capture`")]
        placed = [r for r in lines if "| “" in r]  # facts of a pass: its name stands for the cells of its ranges
        assert (lines or t.cause["scope"] == "frame") and all(
            re.search(r":\d+, column ", r) for r in lines if r not in placed
        )


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    t = compose.make(diagnosis(frame(tmp_path / "a.csv")).bundle)[0]
    whole, cut = ticket_text.body(t, "markdown", 65_536), ticket_text.body(t, "markdown", 1_900)
    assert "Shortened" in cut and "Shortened" not in whole


@pytest.mark.parametrize("limit", [65_536, 32_767, 6_000, 3_500, 2_200])
def test_bodies_fit_by_folding_whole_rows(tmp_path: Path, limit: int) -> None:
    rows = [
        {**PASSES[i % len(PASSES)], "name": f"{'very long pass name ' * 8}{i}", "gpu.time": 1.0, "crop.throughput": 5}
        for i in range(60)
    ]
    for t in compose.make(diagnosis(generic(tmp_path / "a.csv", rows)).bundle):
        for markup in ("markdown", "jira"):
            body = ticket_text.body(t, markup, limit)
            assert len(body) <= limit
            assert t.fingerprint in body
            for line in body.splitlines():
                if line.startswith("|"):
                    assert line.endswith("|"), "a table was cut"
            shown = sum(line.startswith(("| `very", "| very")) for line in body.splitlines())
            if shown < len(t.workloads):
                assert "evidence.json" in body


def test_bodies_that_cannot_fit_are_an_error(tmp_path: Path) -> None:
    t = compose.make(diagnosis(frame(tmp_path / "a.csv")).bundle)[0]
    with pytest.raises(TriageError, match="longer than 100 characters"):
        ticket_text.body(t, "markdown", 100)


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
    assert ticket_folder.read_old(tmp_path / "t" / "tickets.json")


def test_captures_without_times_still_give_tickets(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", [{"name": "k", "sm.throughput": 20, "vram.throughput": 15, "gpu.idle": 40}])
    found = compose.make(diagnosis(path).bundle)
    assert found
    assert all(t.saved_ns is None for t in found)
    assert "None" not in "".join(ticket_text.body(t, "markdown", 65_536) + t.title for t in found)


def test_no_ticket_refers_to_what_its_reader_has_not(tmp_path: Path) -> None:
    t = compose.make(diagnosis(SAMPLES / "gpu-trace" / "demo_frame").bundle)[0]
    for markup in ("markdown", "jira"):
        posted = ticket_text.body(t, markup, 65_536, ticket_text.NOWHERE)
        assert "diagnosis.html" not in posted and "evidence.json" not in posted
        assert "(attached)" in ticket_text.body(t, markup, 65_536, ticket_text.ATTACHED)
        assert f"../diagnosis.html#cause={t.cause['cause']}" in ticket_text.body(t, markup, 65_536)
        t.report_url = "https://ci.example.org/42/"
        linked = ticket_text.body(t, markup, 65_536, ticket_text.NOWHERE)
        t.report_url = ""
        assert f"https://ci.example.org/42/diagnosis.html#cause={t.cause['cause']}" in linked
        assert f"https://ci.example.org/42/{t.folder}/evidence.json" in linked


def test_a_cause_that_is_accepted_is_neither_a_ticket_nor_fixed() -> None:
    b = diagnosis(SAMPLES / "gpu-trace" / "demo_frame").bundle
    old = [{**t.listing()} for t in compose.make(b)]
    known = Accepted(cause=b.todo[0]["cause"], reason="by design", owner="us", expires="2099-01-01")
    b = accepted.apply(b, [known])
    found = compose.make(b, old=old)
    assert known.cause not in {t.cause["cause"] for t in found}
    (gone,) = assign_states(found, old, b)
    assert (gone["cause"], gone["state"], gone["why"]) == (known.cause, "not checked", "accepted by the project")


def test_nothing_is_fixed_that_was_not_judged_or_still_saves_as_much() -> None:
    b = diagnosis(SAMPLES / "gpu-trace" / "demo_frame").bundle
    old = [{**t.listing()} for t in compose.make(b)]
    # a higher minimum, another choice of rules, a part of the capture: each leaves tickets open
    gone = assign_states([], old, b)
    assert {g["state"] for g in gone} == {"not checked"} and all("still saves" in g["why"] for g in gone)
    few = replace(b, todo=[], cause_of={})
    assert {g["state"] for g in assign_states([], old, few)} == {"fixed"}
    few = replace(b, todo=[], cause_of={"XYZ001": "other"})
    assert {g["why"] for g in assign_states([], old, few)} == {"rule not evaluated"}
    few = replace(b, todo=[])
    whole = [g for g in assign_states([], old, few, part=True) if g["state"] == "not checked"]
    assert {g["why"] for g in whole} == {"only a part of the capture"} and all("frame" in g["workloads"] for g in whole)


def test_what_a_ticket_expects_lies_in_the_range_that_it_prints(tmp_path: Path) -> None:
    """Both are of the ticket alone: whoever has done it measures no other's part."""
    assert file(SAMPLES / "pytorch-trace" / "training.pt.trace.json", "-o", tmp_path).exception is None
    sides = re.compile(r"range (?:([\d.]+) ms|0) to ([\d.]+) ms.*Expected: ([\d.]+) ms to about ([\d.]+) ms", re.DOTALL)
    found = [sides.search(f.read_text("utf-8")) for f in tmp_path.rglob("*.md")]
    assert len(found) > 3
    for low, most, before, after in (tuple(map(float, (x or 0 for x in m.groups()))) for m in found if m):
        assert low <= before - after + 0.1 and before - after - 0.1 <= most  # in printed digits


def test_a_title_fits_a_board_and_keeps_its_saving() -> None:
    b = diagnosis(SAMPLES / "gpu-trace" / "demo_frame").bundle
    item = {**next(t for t in compose.make(b)).cause, "names": ["cutlass::Kernel2<" + "long_" * 40 + ">"], "count": 3}
    title = ticket_text.title(item)  # type: ignore[arg-type]
    assert (
        len(title) <= ticket_text.MAX_TITLE_CHARS and "…" in title and " + 2 more, " in title and title.endswith(" %)")
    )


def test_a_budget_stands_in_the_tickets_that_bring_it_under() -> None:
    b = budgets.apply(diagnosis(SAMPLES / "gpu-trace" / "demo_frame").bundle, [("frame", 13.4e6)])
    texts = [ticket_text.body(t, "markdown", 65_536) for t in compose.make(b)]
    over = [text for text in texts if "**Budget:** `frame` over by" in text]
    assert len(over) == len(b.frame["budgets"][0]["items"]) < len(texts)


def test_of_several_devices_the_span_is_expected_to_fall(tmp_path: Path) -> None:
    bundle = diagnosis(SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite").bundle
    texts = {t.cause["cause"]: ticket_text.body(t, "markdown", 65_536) for t in compose.make(bundle)}
    assert "13.3 ms of 246 ms over 2 devices" in texts["bus-traffic"]
    # 220 ms from the first start to the last end of both; all the copies are on device 0
    assert "Expected: the trace from 220 ms to about 207 ms" in texts["bus-traffic"]
    assert not any("246 ms to" in text for text in texts.values())


def test_a_small_saving_is_checked_by_repeats_and_a_large_one_is_not() -> None:
    texts = {
        t.cause["cause"]: ticket_text.body(t, "markdown", 65_536)
        for t in compose.make(diagnosis(SAMPLES / "gpu-trace" / "demo_frame").bundle)
    }
    # 2.1 % of the frame, and 22 % of four markers
    assert "three runs each side, since single runs differ by up to 3.0 %" in texts["mergeable-passes"]
    assert "the 4 markers together from 2.41 ms to about 1.89 ms" in texts["crop-bound"]
    assert "three runs" not in texts["crop-bound"]
    # title, saving and what is expected are after the tickets above; on its own it saves more
    overdraw = texts["overdraw"]
    assert ", 237 µs (1.7 %)" in overdraw and "**Saves:** 237 µs of" in overdraw and "294 µs if done alone" in overdraw


def test_more_than_low_priority_is_filed_near_its_threshold() -> None:
    """93 % against 90 %: what the headline starts with has a ticket."""
    b = diagnosis(SAMPLES / "mobile" / "mali-frame.csv").bundle
    assert {t.cause["cause"] for t in compose.make(b)} == {c["cause"] for c in b.todo}
