"""Coverage-guided fuzzing of the readers with atheris (pip install atheris; Linux). Optional: nothing else needs it.

python benchmarks/fuzz_atheris.py -max_total_time=600 out/fuzz-corpus
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(include=["triage"]):
    from tests.helpers import fuzzing

    JUDGE = fuzzing.Judge(seconds=20)

PATH = Path(tempfile.mkdtemp()) / "case.csv"


def target(data: bytes) -> None:
    PATH.write_bytes(data)
    JUDGE.one(PATH)


def main() -> None:
    warnings.simplefilter("error")
    for argument in sys.argv[1:]:
        if not argument.startswith("-"):  # the corpus starts from the samples
            folder = Path(argument)
            folder.mkdir(parents=True, exist_ok=True)
            for i, seed in enumerate(s for s in fuzzing.seeds() if s.main):
                (folder / f"seed{i}").write_bytes(seed.files[seed.main])
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
