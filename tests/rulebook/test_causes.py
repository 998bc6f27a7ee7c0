"""The vocabulary of causes: it loads, rules speak for it, its chains have roots, and its advice fits its reader."""

import re
from pathlib import Path

import pytest

from triage.ground.errors import RuleError
from triage.rulebook import cause_reader, packs
from triage.rulebook.cause import FAMILIES, Cause
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import Advice

COMPUTE_APIS = {"cuda", "hip", "sycl", "opencl", "triton"}  # other languages: findings/language_advice.toml
GRAPHICS_WORDS = re.compile(
    r"\b(draws?|draw calls?|(sub)?pass(es)?|render targets?|texels?|pixels?|vertex|vertices|triangles?|frames?|"
    r"blend(ed|ing)?|mips?|swap ?chains?)\b",
    re.I,
)
KERNEL_WORDS = re.compile(
    r"\b(kernels?|cuda\w*|hip[A-Z]\w*|streams?|grids?|nvcc|hipcc|thread blocks?|blockidx|threadidx|work-?items?|__\w+)\b",
    re.I,
)

GOOD = """\
id: one-cause
family: memory
title: A cause for tests
meaning: Nothing is wrong.
explains: []
decides: [sm.throughput]
confused_with:
  - {cause: one-cause, by: sm.throughput, how: not at all}
advice:
  - Do something.
  - {do: Do it there, api: cuda, since: sm_80}
cites:
  src: {text: "A source", url: "https://example.com/a"}
"""


def write(folder: Path, text: str, name: str = "one-cause") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("id: one-cause", f"id: {name}"), "utf-8")
    return path


@pytest.fixture(scope="module")
def vocabulary() -> dict[str, Cause]:
    return cause_reader.load(packs.cause_files())


def test_the_vocabulary_loads_by_family_and_id(vocabulary: dict[str, Cause]) -> None:
    families = list(FAMILIES)
    keys = [(families.index(c.family), c.id) for c in vocabulary.values()]
    assert keys == sorted(keys)
    assert {c.family for c in vocabulary.values()} == set(FAMILIES)
    assert len(vocabulary) == len(packs.cause_files())


def test_every_reporting_rule_names_a_cause_and_concepts_name_none(
    book: Rulebook, vocabulary: dict[str, Cause]
) -> None:
    assert [r.name for r in book.rules if not r.is_concept and r.cause not in vocabulary] == []
    assert [r.name for r in book.rules if r.is_concept and r.cause] == []


def test_every_cause_stands_before_what_it_explains(vocabulary: dict[str, Cause]) -> None:
    place = {name: i for i, name in enumerate(cause_reader.order(vocabulary))}
    assert len(place) == len(vocabulary)
    links = [(c.id, e.cause) for c in vocabulary.values() for e in c.explains]
    assert [f"{a} > {b}" for a, b in links if place[a] >= place[b]] == []
    assert len(links) == len(set(links)), "one link stands twice"


def test_verdicts_explain_nothing_and_are_explained_by_nothing(vocabulary: dict[str, Cause]) -> None:
    verdicts = {c.id for c in vocabulary.values() if c.family == "verdict"}
    assert verdicts == {"near-limit", "low-throughput"}
    assert [c.id for c in vocabulary.values() if c.id in verdicts and c.explains] == []
    assert [c.id for c in vocabulary.values() if verdicts & {e.cause for e in c.explains}] == []


def test_conditions_of_links_hold_no_numbers(vocabulary: dict[str, Cause]) -> None:
    """Thresholds have sources; they belong to rules."""
    conditions = [(c.id, e.when) for c in vocabulary.values() for e in c.explains if e.when]
    assert [name for name, w in conditions if w.left.literals or (w.right and w.right.literals)] == []


def test_every_cause_says_what_decides_and_cites_a_source(vocabulary: dict[str, Cause]) -> None:
    assert [c.id for c in vocabulary.values() if not c.decides] == []
    assert [c.id for c in vocabulary.values() if not any(s.url.startswith("https://") for s in c.cites)] == []
    assert [c.id for c in vocabulary.values() if c.id in {x.cause for x in c.confused_with}] == []


def test_titles_fit_a_list_of_things_to_do(vocabulary: dict[str, Cause]) -> None:
    titles = [c.title for c in vocabulary.values()]
    assert [t for t in titles if len(t) >= 60 or t.endswith(".") or not t[0].isupper()] == []
    assert len(set(titles)) == len(titles)
    sentences = {c.id: len(re.findall(r"[.?](?= |$)", c.meaning)) for c in vocabulary.values()}
    assert {name: n for name, n in sentences.items() if not 1 <= n <= 3} == {}
    assert [p.stem for p in packs.cause_files() if len(p.read_text("utf-8").splitlines()) >= 60] == []


def test_advice_begins_with_a_step_for_everybody(vocabulary: dict[str, Cause]) -> None:
    assert [c.id for c in vocabulary.values() if c.advice[0].where] == []
    dated = [(c.id, a.where["since"][0]) for c in vocabulary.values() for a in c.advice if "since" in a.where]
    assert [d for d in dated if not re.fullmatch(r"sm_\d{2,3}a?|gfx[0-9a-f]{3,4}", d[1])] == []
    texts = [(c.id, a.text) for c in vocabulary.values() for a in c.advice]
    assert len(set(texts)) == len(texts)


def speaks_to(advice: Advice, c: Cause) -> set[str]:
    """Kinds of work whose reader may get this text."""
    if "work" in advice.where:
        return set(advice.where["work"])
    if apis := set(advice.where.get("api", ())):
        return ({"compute"} if apis & COMPUTE_APIS else set()) | ({"any"} if apis - COMPUTE_APIS else set())
    return {"graphics"} if c.is_drawn else {"any"}


def test_advice_uses_the_words_of_its_reader(vocabulary: dict[str, Cause]) -> None:
    """D3D12, Vulkan and the like do both kinds of work; text for them is neutral, or says that it is for graphics."""
    wrong = []
    for c in vocabulary.values():
        for a in c.advice:
            to = speaks_to(a, c)
            drawn = c.is_drawn
            if to != {"graphics"} and not drawn and (m := GRAPHICS_WORDS.search(a.text)):
                wrong.append(f"{c.id}: {m[0]!r} for {sorted(to)}: {a.text}")
            if to != {"compute"} and (m := KERNEL_WORDS.search(a.text)):
                wrong.append(f"{c.id}: {m[0]!r} for {sorted(to)}: {a.text}")
    assert wrong == []


def test_a_good_file_becomes_a_cause(tmp_path: Path) -> None:
    c = cause_reader.load([write(tmp_path, GOOD)])["one-cause"]
    assert c.advice == (Advice("Do something."), Advice("Do it there", where={"api": ("cuda",), "since": ("sm_80",)}))
    assert (c.explains, c.decides, c.cites[0].url) == ((), ("sm.throughput",), "https://example.com/a")


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("meaning:", "meanign:", 4, "did you mean 'meaning'"),
        ("family: memory", "family: memroy", 2, "unknown family 'memroy' - did you mean 'memory'?"),
        ("id: one-cause", "id: other-cause", 1, "is not the file name"),
        ("title: A cause for tests\n", "", 1, "`title` is missing"),
        ("title: A", "title: A\ntitle: B", 4, "duplicate key"),
        ("explains: []", "explains: none", 5, "must be a list"),
        ("explains: []", "explains: [{cause: one-cause}]", 5, "mappings of `cause` and `when`"),
        ("explains: []", "explains: [{cause: x, when: sm.troughput > l2.throughput}]", 5, "'sm.throughput'"),
        ("explains: []", "explains: [{cause: x, when: sm.throughput +}]", 5, "cannot read"),
        ("explains: []", "explains: [two-cause]", 5, "explains: unknown cause 'two-cause'"),
        ("explains: []", "explains: [one-cause]", 5, "circle: one-cause -> one-cause"),
        ("family: memory", "family: memory\nlimits: memroy", 3, "did you mean 'memory'"),
        ("family: memory", "family: memory\nwork: drawing", 3, "choose graphics or compute"),
        ("decides: [sm.throughput]", "decides: [sm.troughput]", 6, "did you mean 'sm.throughput'"),
        ("{cause: one-cause, by", "{cause: one-cuase, by", 8, "did you mean 'one-cause'"),
        (", how: not at all", "", 7, "need `cause`, `by` and `how`"),
        ("by: sm.throughput", "by: sm.troughput", 7, "is not a metric"),
        ("{do: Do it there, api: cuda", "{api: cuda", 9, "a mapping with `do`"),
        ("api: cuda", "api: cude", 9, "api is one of cuda"),
        ("api: cuda", "language: cuda", 9, "no fact is called 'language'"),
        ("advice:\n  - Do something.\n  - {do: Do it there, api: cuda, since: sm_80}\n", "", 1, "what to do about it"),
        ('{text: "A source", url', "{url", 12, "needs `text`"),
        ('cites:\n  src: {text: "A source", url: "https://example.com/a"}\n', "", 1, "cites a source"),
    ],
)
def test_mistakes_name_file_line_and_next_step(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    path = tmp_path / "one-cause.yaml"
    path.write_text(GOOD.replace(old, new, 1), "utf-8")
    with pytest.raises(RuleError) as e:
        cause_reader.load([path])
    assert says in str(e.value)
    assert (e.value.line, e.value.file) == (line, str(path))


def test_circles_are_named_link_by_link(tmp_path: Path) -> None:
    one = write(tmp_path, GOOD.replace("explains: []", "explains: [two-cause]"))
    two = write(
        tmp_path,
        GOOD.replace("explains: []", "explains: [three-cause]").replace("cause: one", "cause: two"),
        "two-cause",
    )
    three = write(tmp_path, GOOD.replace("explains: []", "explains: [two-cause]"), "three-cause")
    with pytest.raises(RuleError, match="circle: two-cause -> three-cause -> two-cause") as e:
        cause_reader.load([one, two, three])
    assert Path(e.value.file).name in ("one-cause.yaml", "two-cause.yaml", "three-cause.yaml")
