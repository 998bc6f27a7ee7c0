"""Where a rule speaks and where its advice belongs: facts of the pack, of the rule, and of a capture."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triage
from tests.conftest import ROOT, generic, run
from triage.capture.trace_nouns import way_of
from triage.derive.vendor import vendor_of
from triage.diagnosis.outcomes import Outcomes
from triage.ground.errors import RuleError
from triage.inference.evaluate import NOT_APPLICABLE
from triage.rulebook import applies, pack, packs, rulefile
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import PUBLISHERS

RULE = """\
id: TST001
name: test-rule
title: A rule for tests
cites:
  src: {text: "A source", url: "https://example.com/a"}
needs: [sm.throughput]
thresholds:
  low: {value: 60%, cite: src}
when: {all: [sm.throughput < low]}
finding: "SM at {sm.throughput}."
gain: {time: 1 - sm.throughput / low, evidence: rate, because: a test}
advice:
  - Do something.
  - {do: "Use fewer texels.", work: graphics}
  - {do: "Use fewer loads.", work: compute}
"""
# of an advice that a kernel cannot follow; of the texture units' own illnesses it is the only one there is
DRAWING = re.compile(
    r"\b(textures?|texels?|mip|mipmaps?|mip-maps?|MSAA|render targets?|vertex|vertices|[Pp]ixel shaders?|G-buffer|R11G11B10F)\b"
)
OF_TEXTURES = {"texture-format", "texture-queue", "sm-tex-interface"}


def write(folder: Path, text: str = RULE, shared: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    if shared:
        (folder / pack.FILE).write_text(shared, "utf-8")
    path = folder / "test-rule.yaml"
    path.write_text(text, "utf-8")
    return path


def table(folder: Path, *columns: str) -> Path:
    path = folder / "one.csv"
    path.write_text(
        f"name,kind,gpu.time [us],sm.throughput [%]{''.join(columns)}\n"
        + "a,compute,100,30"
        + ",64" * len(columns)
        + "\n"
    )
    return path


def test_every_reporting_rule_says_what_work_it_is_about(book: Rulebook) -> None:
    assert [r.id for r in book.rules if not r.is_concept and not r.applies.get("work")] == []


def test_a_rule_speaks_of_vendors_that_its_sources_are_about(book: Rulebook) -> None:
    told = set(PUBLISHERS)  # whose publications are told apart by name
    unfounded = [r.id for r in book.rules if r.sources and not set(r.applies["vendor"]) & told <= set(r.sources)]
    assert unfounded == []


def test_no_kernel_is_told_of_textures(book: Rulebook) -> None:
    def told(where: applies.Applies) -> bool:
        return "compute" in where.get("work", ("compute",))

    of = [r for r in book.rules if told(r.applies) and r.cause not in OF_TEXTURES]
    assert len(of) > 150
    assert [
        (r.id, a.text) for r in of for a in r.advice if told(a.where) and not a.only_if and DRAWING.search(a.text)
    ] == []


def test_a_pack_gives_its_facts_and_a_rule_its_own(tmp_path: Path) -> None:
    path = write(
        tmp_path / "own", shared="applies: {work: compute, api: [cuda, hip]}\nreach: {value: 80%, why: a test}\n"
    )
    rule = rulefile.read(path)[0]
    assert rule.applies == {"work": ("compute",), "api": ("cuda", "hip")}
    assert rule.gain is not None and rule.gain.reach == 0.8
    path.write_text(RULE.replace("needs:", "applies: {api: metal, since: gfx90a}\nneeds:"), "utf-8")
    assert rulefile.read(path)[0].applies == {"work": ("compute",), "api": ("metal",), "since": ("gfx90a",)}


def test_a_rule_without_a_pack_speaks_of_everything(tmp_path: Path) -> None:
    assert rulefile.read(write(tmp_path / "own"))[0].applies == {}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("applies: {work: knitting}", "work is one of graphics, compute, not 'knitting'"),
        ("applies: {planet: mars}", "no fact is called 'planet'"),
        ("applies: compute", "`applies` is a mapping"),
    ],
)
def test_a_wrong_fact_is_named(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(RuleError, match=re.escape(says)) as e:
        rulefile.read(write(tmp_path / "own", RULE.replace("needs:", f"{line}\nneeds:")))
    assert e.value.line == 6
    with pytest.raises(RuleError, match=re.escape(says)):
        rulefile.read(write(tmp_path / "other", shared=line + "\n"))


@pytest.mark.parametrize(
    ("shared", "says"),
    [
        ("colour: red\n", "unknown key 'colour'"),
        ("reach: {value: 90%}\n", "needs `value` and `why`"),
        ("reach: {value: 120%, why: more}\n", "up to 100 %"),
        ("reach: {value: fast, why: more}\n", "reach:"),
    ],
)
def test_a_wrong_pack_is_named(tmp_path: Path, shared: str, says: str) -> None:
    with pytest.raises(RuleError, match=re.escape(says)) as e:
        rulefile.read(write(tmp_path / "own", shared=shared))
    assert e.value.file.endswith(pack.FILE)


def test_a_vendor_needs_a_source_about_it(tmp_path: Path) -> None:
    text = RULE.replace('"A source"', '"AMD, a guide"').replace("needs:", "applies: {vendor: intel}\nneeds:")
    with pytest.raises(RuleError, match="intel is named, and none of the sources is about it"):
        rulefile.read(write(tmp_path / "own", text))


def test_advice_with_a_stray_comma_is_no_advice(tmp_path: Path) -> None:
    text = RULE.replace('"Use fewer texels."', "Use fewer texels, or none.")
    with pytest.raises(RuleError, match=re.escape("advice: unknown key 'or none.'")):
        rulefile.read(write(tmp_path / "own", text))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["durable", "clips"])
def test_a_rule_is_silent_where_a_capture_is_about_something_else(tmp_path: Path, engine: str) -> None:
    folder = tmp_path / "own"
    write(folder, shared="applies: {work: graphics}\n")
    # a block size says compute; nothing says what the bare table is, and a rule speaks
    for columns, spoke in ((",launch.block_size",), False), ((), True):
        d = triage.diagnose(table(tmp_path, *columns), rules=[folder], engine=engine)
        assert any(f.rule.name == "test-rule" for f in d.findings) is spoke
        index = d.book.rules.index(d.book.by_name["test-rule"])
        assert (Outcomes(d, d.parts[0]).outcome(index)[0] == NOT_APPLICABLE) is not spoke


def test_a_frame_with_dispatches_is_not_taken_for_kernels(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    write(folder, shared="applies: {work: graphics}\n")
    path = table(tmp_path, ",launch.block_size")
    path.write_text(path.read_text("utf-8") + "b,draw,100,30,\n", "utf-8")
    d = triage.diagnose(path, rules=[folder])
    assert {f.workload_name for f in d.findings if f.rule.name == "test-rule"} == {"a", "b"}


def test_advice_is_chosen_by_the_facts_of_the_capture(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    write(folder)

    def advice(*columns: str) -> tuple[str, ...]:
        d = triage.diagnose(table(tmp_path, *columns), rules=[folder])
        return next(f.advice for f in d.findings if f.rule.name == "test-rule")

    assert advice(",launch.block_size") == ("Do something.", "Use fewer loads.")
    assert advice() == ("Do something.", "Use fewer texels.", "Use fewer loads.")


@pytest.mark.parametrize(
    ("language", "here", "shown"),
    [
        ("hlsl", {"api": "hip"}, False),
        ("hlsl", {"api": "d3d12"}, True),
        ("glsl", {"api": "cuda"}, False),
        ("cuda", {"api": "hip"}, True),
        ("hip", {"api": "cuda"}, False),
        ("cuda", {"api": "sycl"}, False),
        ("cuda", {"work": "graphics"}, False),
        ("hlsl", {}, True),
        ("cpp", {"api": "hip"}, True),
    ],
)
def test_a_sample_is_in_a_language_of_the_api(language: str, here: dict[str, str], shown: bool) -> None:
    assert applies.may_hold(applies.LANGUAGES.get(language, {}), here) is shown


def test_every_language_of_the_rules_is_known(book: Rulebook) -> None:
    used = {a.language for r in book.rules for a in r.advice if a.code}
    assert used <= {*applies.LANGUAGES, "cpp"}
    assert all(applies.read({k: list(v) for k, v in w.items()}) == w for w in applies.LANGUAGES.values())


@pytest.mark.slow
def test_a_kernel_of_hip_is_shown_no_shader(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    sample = 'advice:\n  - {do: "Share it.", code: "groupshared uint a;", language: hlsl}\n'
    write(folder, RULE.replace("advice:\n", sample))

    def samples(path: Path) -> set[tuple[tuple[str, str], ...]]:
        d = triage.diagnose(path, rules=[folder])
        told = [f for f in d.findings if f.rule.name == "test-rule"]
        assert told and all("Share it." in f.advice for f in told)  # the advice stays
        return {tuple((c.language, c.text) for c in f.code) for f in told}

    bare = tmp_path / "bare.csv"
    bare.write_text("name,kind,gpu.time [us],sm.throughput [%]\na,compute,100,30\n")
    assert samples(bare) == {(("hlsl", "groupshared uint a;"),)}
    hip = tmp_path / "results.csv"
    hip.write_text((ROOT / "sample_captures" / "rocprof" / "results.csv").read_text("utf-8"), "utf-8")
    assert samples(hip) == {()}


def test_nobody_is_sent_for_a_counter_of_another_vendor(tmp_path: Path) -> None:
    """A table that names no GPU is asked for what GPUs that it looks like have."""

    def asked(header: str) -> set[str]:
        path = tmp_path / "bare.csv"
        path.write_text(f"name,kind,gpu.time [us],{header} [%]\na,draw,100,30\n")
        d = triage.diagnose(path)
        return {rule for spot in Outcomes(d, d.parts[0]).blind_spots for rule in spot.rules}

    of_nvidia, of_apple = asked("crop.throughput"), asked("mmu.limiter")
    assert "SOL014" in of_nvidia and not any(r.startswith("MOB") for r in of_nvidia)
    assert "MOB001" in of_apple and "SOL014" not in of_apple


_HERE = st.fixed_dictionaries({}, optional={f: st.sampled_from(w) for f, w in applies.FACTS.items()})
_WHERE = st.dictionaries(st.sampled_from(list(applies.FACTS)), st.just(None)).flatmap(
    lambda d: st.fixed_dictionaries({f: st.lists(st.sampled_from(applies.FACTS[f]), min_size=1).map(tuple) for f in d})
)


@given(where=_WHERE, here=_HERE)
def test_what_holds_may_hold_and_less_told_never_silences(where: applies.Applies, here: dict[str, str]) -> None:
    assert applies.may_hold(where, here) or not applies.holds(where, here)
    for fact in here:
        less = {f: w for f, w in here.items() if f != fact}
        assert applies.may_hold(where, less) or not applies.may_hold(where, here)
        assert applies.holds(where, here) or not applies.holds(where, less)


def test_words_of_a_framework_are_for_its_users() -> None:
    served = {"framework": ("vllm", "sglang")}
    assert applies.suits(served, {"framework": "vllm"}) and applies.suits({}, {})
    assert not applies.suits(served, {"framework": "pytorch"}) and not applies.suits(served, {"vendor": "nvidia"})


@pytest.mark.parametrize(
    ("arch", "since", "is_it"),
    [
        ("sm_90", "sm_80", True),
        ("sm_75", "sm_80", False),
        ("sm_100", "sm_90", True),
        ("gfx942", "gfx90a", True),
        ("gfx1100", "gfx90a", False),
        ("sm_90", "gfx90a", False),
    ],
)
def test_generations(arch: str, since: str, is_it: bool) -> None:
    assert applies.may_hold({"since": (since,)}, {"arch": arch}) is is_it
    assert applies.may_hold({"since": (since,)}, {})
    assert not applies.holds({"since": (since,)}, {})


def test_explain_and_list_say_where_a_rule_applies() -> None:
    assert "applies to: graphics, nvidia" in run("explain", "texture-queue-full").stdout
    listed = run("list", "rules").stdout
    line = next(line for line in listed.splitlines() if "texture-queue-full" in line)
    assert "graphics, nvidia" in line and line.count("nvidia") == 1


def test_explain_says_why_a_rule_is_not_about_a_capture() -> None:
    said = run("explain", "texture-queue-full", "--on", ROOT / "sample_captures" / "rocprof" / "results.csv").stdout
    assert "not applicable: the rule needs graphics, nvidia; this capture is not" in said


def test_the_bundled_packs_are_all_described() -> None:
    folders = {Path(r.file).parent for r in packs.load().rules}
    assert [f.name for f in folders if not pack.read(f).applies] == []


NVIDIAS = {"stall.barrier": 50, "stall.short_scoreboard": 7, "stall.mio_throttle": 5, "stall.lg_throttle": 2}
INTELS = {"eu.active": 40, "eu.stall": 50, "eu.idle": 10, "eu.occupancy": 90}
AMDS = {"valu.busy": 60, "valu.utilization": 90, "mem_unit.busy": 40, "stall.long_scoreboard": 30}


@pytest.mark.parametrize(
    ("counters", "vendor"),
    [
        (NVIDIAS, ""),
        (NVIDIAS | {"lds.busy": 30}, ""),
        (INTELS, "intel"),
        (INTELS | {"lds.busy": 30}, "intel"),
        (AMDS, "amd"),
        (AMDS | {"slm.bank_conflicts": 3}, "amd"),
        ({"lds.busy": 30, "eu.active": 40}, ""),
    ],
)
def test_one_counter_of_a_stranger_does_not_change_the_vendor(
    counters: dict[str, float], vendor: str, tmp_path: Path
) -> None:
    row = {"name": "Frame/Tile reduce", "kind": "compute", "gpu.time": 1.0, "sm.throughput": 30, "l2.throughput": 20}
    assert vendor_of(triage.read(generic(tmp_path / "f.csv", [row | counters]))) == vendor


def advice_of(path: Path, rule: str) -> dict[str, list[str]]:
    """Advice of each workload that a rule fired on."""
    found = triage.diagnose(str(path)).bundle.document["findings"]
    names = {w["id"]: w["name"] for w in triage.diagnose(str(path)).bundle.document["workloads"]}
    return {names.get(f["workload"], "frame"): f["advice"] for f in found if f["rule"] == rule}


def test_advice_follows_the_shader_and_the_way_of_the_copies() -> None:
    samples = ROOT / "sample_captures"
    registers = advice_of(samples / "gpu-trace/demo_frame", "GFX012")
    smaller = {name for name, lines in registers.items() if any("smaller groups" in line for line in lines)}
    assert {"Coarse AO", "Inject"} <= smaller and not {"Trace", "Glass", "Static Meshes"} & smaller
    copies = advice_of(samples / "gpu-trace/demo_frame", "GFX020")
    assert not any("Upload" in line for line in copies["Copy to System Memory"])
    assert any("read back" in line for line in copies["Copy to System Memory"])
    back = " ".join(advice_of(samples / "pytorch-trace/unitrace.4711.json", "FRM033")["frame"])
    assert "Read back less" in back and "weights" not in back


@pytest.mark.parametrize(
    ("name", "way"),
    [("[CUDA memcpy Host-to-Device]", 0), ("zeCommandListAppendMemoryCopy(D2M)[64]", 1), ("[CUDA memcpy DtoD]", 2), ("sum2d_kernel", 3), ("head_to_dim", 3)],
)  # fmt: skip
def test_names_tell_the_way_of_a_copy(name: str, way: int) -> None:
    assert way_of(name) == way
