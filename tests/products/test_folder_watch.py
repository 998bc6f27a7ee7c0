"""A watched folder: captures are diagnosed once they are complete, and only once."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.commands.test_mcp import table
from triage.ground.errors import TriageError
from triage.products.batch.batch_contents import Batch
from triage.products.folder_watch import watch
from triage.products.settings import Settings


class Farm:
    """A folder into which something arrives between two looks."""

    def __init__(self, folder: Path) -> None:
        self.inside, self.out = folder / "in", folder / "out"
        self.inside.mkdir()
        self.events: list[object] = []
        self.done: list[str] = []
        self.rounds: list[Batch] = []

    def run(self, *steps: object) -> None:
        waiting = list(steps)

        def sleep(_: float) -> None:
            step = waiting.pop(0)
            if callable(step):
                step()

        watch(
            [str(self.inside)], Settings(formats=("markdown",)), self.out, every=0, rounds=len(steps) + 1, sleep=sleep,
            progress=lambda outcome, _: self.done.append(Path(outcome.found.path).name), report=self.rounds.append,
        )  # fmt: skip

    def reports(self) -> int:
        return len(list(self.out.glob("reports/*.md")))


def test_a_capture_is_diagnosed_once_it_is_complete(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    whole = table(tmp_path / "whole.csv").read_text()
    arriving = farm.inside / "a.csv"
    farm.run(
        lambda: arriving.write_text(""),
        lambda: arriving.write_text(whole[:200]),
        lambda: arriving.write_text(whole),
        None, None, None,
    )  # fmt: skip
    assert farm.done == ["a.csv"]
    assert farm.reports() == 1
    assert (farm.out / "index.html").is_file()


def test_only_what_is_new_is_done_again(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    table(farm.inside / "a.csv")
    farm.run(None, None, lambda: table(farm.inside / "b.csv"), None, None)
    assert farm.done == ["a.csv", "b.csv"]
    assert [b.kept for b in farm.rounds] == [0, 1]
    again = Farm.__new__(Farm)
    again.__dict__ = {**farm.__dict__, "done": [], "rounds": []}
    again.run(None, None)  # a watch that was killed and started again
    assert again.done == []
    table(farm.inside / "a.csv", 3.0)
    again.run(None, None)
    assert again.done == ["a.csv"]


def test_damaged_captures_stop_nothing(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    (farm.inside / "bad.csv").write_text("no,export\nat,all\n")
    table(farm.inside / "good.csv")
    farm.run(None)
    assert sorted(farm.done) == ["bad.csv", "good.csv"]
    assert farm.reports() == 1


def test_the_command(tmp_path: Path) -> None:
    from triage.commands.cli import triage as verbs

    table(tmp_path / "a.csv")
    options = ["-o", str(tmp_path / "out"), "--once", "--every", "0.05", "-f", "json"]
    done = CliRunner().invoke(verbs, ["watch", str(tmp_path), *options], standalone_mode=False)
    assert done.return_value == 0, done.exception
    assert "a.csv: " in done.stderr
    (report,) = (tmp_path / "out" / "reports").glob("*.json")
    assert json.loads(report.read_text())["schema"] == "triage/1"
    missing = CliRunner().invoke(verbs, ["watch", str(tmp_path / "none"), *options], standalone_mode=False)
    assert isinstance(missing.exception, TriageError)
    with pytest.raises(AssertionError):
        assert (tmp_path / "none").exists()
