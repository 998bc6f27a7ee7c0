"""Custom tables of kernels: abbreviations, cut PerfWorks names, other languages, and what states no unit or no GPU."""

from pathlib import Path

import pytest

from tests.conftest import run
from tests.helpers.headers import by_words
from triage import api
from triage.dialects.custom import say


def _table(folder: Path, *lines: str) -> Path:
    path = folder / "kernels.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "metric"),
    [
        ("Auslastung der SMs (%)", "sm.throughput"),
        ("L2-Auslastungsgrad [%]", "l2.throughput"),
        ("Mittlere Dauer (ms)", "gpu.time"),
        ("Trefferquote L1 (%)", "l1tex.hit_rate"),
        ("DRAM-Durchsatz [GB/s]", "vram.bandwidth"),
        ("Register pro Thread", "launch.registers"),
        ("Theoretische Belegung (%)", "occupancy.theoretical"),
        ("Bankkonflikte im Shared Memory (%)", ""),  # `im` says where: not known
        ("Bankkonflikte Shared Memory (%)", "shared.conflict_share"),
        ("Wartezeit Speicherbarriere (%)", "stall.membar"),
        ("Durée moyenne (µs)", "gpu.time"),
        ("Taux de succès L2 (%)", "l2.hit_rate"),
        ("Débit DRAM (%)", "vram.throughput"),
        ("Occupation théorique (%)", "occupancy.theoretical"),
        ("Registres par thread", "launch.registers"),
        ("Mémoire partagée par bloc (Ko)", "launch.shared"),  # octets
        ("Bande passante DRAM (Go/s)", "vram.bandwidth"),
        ("Conflits de banques (%)", "shared.conflict_share"),
        ("Taux d'occupation (%)", "sm.occupancy"),
        ("Taille de bloc", "launch.block_size"),
        ("Tensorkerne (%)", "pipe.tensor"),
        ("Mémoire partagée par bloc (KiB)", "launch.shared"),
        ("Last (%)", ""),  # load, or the one before
        ("occ th. [%]", "occupancy.theoretical"),
        ("ld eff. [%]", "global_load.waste"),
        ("st eff.", "global_store.waste"),
        ("stl MIO thr %", "stall.mio_throttle"),
        ("thr/warp", "warp.threads_per_inst"),  # threads there
        ("iss%", "sm.issue_per_active"),
        ("shared wavefronts per access", "shared.conflict_ways"),  # one access's, not all
        ("shm wf/acc", "shared.conflict_ways"),
        ("Local sector share %", "local.share"),
        ("local sectors", "local.sectors"),
        ("SLM conflicts [per access]", "slm.conflict_share"),
        ("lts__throughput", "l2.throughput"),
        ("smsp__stall_lg_throttle", "stall.lg_throttle"),
        ("l1tex__t_sector_hit_rate", "l1tex.hit_rate"),
        ("sm__issue_active", "sm.issue_per_elapsed"),  # as the counter is, whatever its words are
        ("smsp__warps_active", ""),  # a share, a number or a sum
        ("dram__cycles_elapsed", ""),  # of one channel, or of all
        ("lts__t_sectors_op_read", ""),
    ],
)
def test_words_of_other_languages_and_short_ones(header: str, metric: str) -> None:
    assert by_words(header) == [metric]


def test_many_blocks_are_a_grid_and_one_is_a_size() -> None:
    sizes = ["launch.grid_size", "launch.block_size"]
    assert by_words("regs/thread", "blocks", "blk") == ["launch.registers", *sizes]
    assert by_words("launch__grid", "launch__block") == sizes
    assert by_words("n_blocks", "threads") == sizes


def test_conflicts_of_each_access_are_no_share(tmp_path: Path) -> None:
    found = api.read(
        _table(tmp_path, "Kernel,ms,XVE Active [%],SLM Bank Conflicts [per access]", "a,1,20,15.5", "b,2,30,0")
    )
    assert found.facts["slm.conflict_share"].tolist() == [15.5, 0]


def test_a_column_in_an_unknown_unit_is_left_and_told(tmp_path: Path) -> None:
    path = _table(tmp_path, "name,ms,SM Throughput [%],L2 Hit Rate [furlong]", "a,1,30,70")
    found = api.read(path)
    assert "l2.hit_rate" not in found.facts
    assert found.facts["sm.throughput"].tolist() == [pytest.approx(0.3)]
    (said,) = [q for q in found.quality if q.check == "unit-not-understood"]
    assert "L2 Hit Rate [furlong]" in said.message
    assert "'furlong'" in said.message
    named = run("diagnose", _table(tmp_path, "name,ms,sm.throughput [furlong]", "a,1,30"))  # our own name is meant so
    assert named.returncode == 2
    assert "furlong" in named.stderr


@pytest.mark.parametrize(
    ("above", "device"),
    [
        ("# Tesla T4, driver 550.54, stalls in cycles", "Tesla T4"),
        ("// Radeon RX 7900 XTX (gfx1100), build 8812", "Radeon RX 7900 XTX"),
        ("# before: Tesla T4, after: A100 40GB", None),  # which?
        ("# 2560x1440, build 8812", None),
    ],
)
def test_a_comment_above_the_table_may_name_the_gpu(above: str, device: str | None, tmp_path: Path) -> None:
    found = api.read(_table(tmp_path, above, "kernel,ms,SM %,DRAM %", "a,1,20,30"))
    assert (found.device.name if found.device else None) == device


def test_a_german_table_is_read_whole(tmp_path: Path) -> None:
    head = "Kernel;Grafikkarte;Laufzeit (µs);Blöcke;Threads je Block;SM-Auslastung (%);DRAM-Auslastung (%);Wartegrund Barriere (%)"
    found = api.read(
        _table(tmp_path, head, "a;Tesla T4;812,5;160;256;22,5;8,25;61,0", "b;Tesla T4;90,0;640;128;61,5;44,0;2,5")
    )
    assert not [q for q in found.quality if q.check == "columns-unread"]
    assert found.device is not None
    assert found.facts["gpu.time"].tolist() == [812_500, 90_000]
    assert found.facts["stall.barrier"].tolist() == pytest.approx([0.61, 0.025])


@pytest.mark.parametrize(("values", "share"), [(("24.5", "93.0"), True), (("8.5", "30.0"), False)])
def test_warps_without_their_end_are_a_share_where_no_sm_holds_so_many(
    values: tuple[str, str], share: bool, tmp_path: Path
) -> None:
    rows = [f"k{i},1,{v},20" for i, v in enumerate(values)]
    found = api.read(_table(tmp_path, "kernel,ms,sm__warps_active,SM Throughput [%]", *rows))
    assert ("sm.occupancy" in found.facts) == share


def test_an_alias_of_its_own_is_still_read() -> None:
    assert say.by_name("Wave size").metric == "launch.wave_size"
