"""The files of a folder that is one export."""

from __future__ import annotations

import os
from pathlib import Path

from triage.ground.errors import BadCapture

MOST = 20_000  # of one export; a home folder given by mistake is not walked for minutes


def files(path: str) -> list[str]:
    """Relative paths of a folder's files, sorted; links to folders are not followed.

    Raises BadCapture for a whole file system, and where there are more than `MOST`.
    """
    too_many = BadCapture(f"{path}: a folder of more than {MOST:,} files is no export", "name the export's own folder")
    root = Path(path).resolve()
    if root.parent == root:
        raise too_many
    found: list[str] = []
    folders, seen = [""], 0
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MOST:
                        raise too_many
                    below = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(below)
                    elif entry.is_file():
                        found.append(below)
        except OSError:  # not ours to read, or gone meanwhile
            continue
    return sorted(found, key=lambda p: p.split("/"))
