"""Check commit subjects: python tests/commit_subjects.py. Exit 1 with a line per subject that breaks a rule.

Subjects are imperative, at most 72 characters, without a full stop: `area: change`. Only commits after START are checked.
Without git, or in a shallow clone that does not reach START, nothing is.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START = "a2d738b7ad3e2f4f20196b79feef5aacad0c75d5"
MAX_LENGTH = 72
AREA_RE = re.compile(r"(?:[\w./-]+(?:, | and | )?){1,4}: ")
# words that start no imperative, beside participles and third persons
OTHER_WORDS = frozenset(
    "a an the all some one two each every no not only also new more in on at for of from with by to as what where when "
    "how why who its their our my this that these those it they we i is are was be".split()
)
INFLECTED_RE = re.compile(r"\w{2,}(?:ed|ing|[^s]s)")
# imperatives that end like an inflected form
IMPERATIVES = frozenset(
    "need feed embed exceed proceed speed shed bring string ring swing focus alias canvas bias".split()
)


def faults(subject: str) -> Iterator[str]:
    """What is wrong with a commit's subject."""
    if subject.startswith('Revert "'):
        return
    if len(subject) > MAX_LENGTH:
        yield f"{len(subject)} characters, at most {MAX_LENGTH}"
    if subject.endswith("."):
        yield "ends in a full stop"
    area = AREA_RE.match(subject)
    first = re.match(r"[\w'-]*", subject[area.end() if area else 0 :])
    word = first[0].lower() if first else ""
    if not word or word in OTHER_WORDS or (INFLECTED_RE.fullmatch(word) and word not in IMPERATIVES):
        yield f"starts with {word!r}; start with a verb: area: change it"


def subjects(root: Path, start: str) -> list[tuple[str, str]] | None:
    """(short hash, subject) of the commits after `start`, merges left out; None where history does not reach it."""
    if _git(root, "rev-parse", "--quiet", "--verify", f"{start}^{{commit}}") is None:
        return None
    log = _git(root, "log", "--no-merges", "--format=%h%x09%s", f"{start}..HEAD")
    return None if log is None else [(h, s) for h, _, s in (line.partition("\t") for line in log.splitlines())]


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, encoding="utf-8", check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def main(root: Path = ROOT, start: str = START) -> int:
    """Print the faults."""
    found = subjects(root, start)
    if found is None:
        sys.stdout.write("commit subjects: not checked, no history\n")
        return 0
    lines = [f"{commit} {subject!r}: {fault}\n" for commit, subject in found for fault in faults(subject)]
    sys.stdout.writelines(lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
