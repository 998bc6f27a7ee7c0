"""The files of a folder that is one export."""

from __future__ import annotations

import os

from triage.files import tree
from triage.ground.errors import BadCapture


def files(path: str) -> list[str]:
    """Relative paths of a folder's files, sorted; links to folders are not followed.

    Raises BadCapture for a whole file system, and where there are more than `tree.MAX_FILES`.
    """
    root = os.path.realpath(path)
    try:
        folders = tree.walk(root, tree.MAX_FILES)
    except tree.TooMany as e:
        raise BadCapture(f"{path}: {e}, not an export", "name the folder of the export") from None
    found = (os.path.relpath(os.path.join(here, name), root) for here, names in folders for name in names)
    return sorted((p.replace(os.sep, "/") for p in found), key=lambda p: p.split("/"))
