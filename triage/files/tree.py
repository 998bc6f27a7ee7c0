"""Folders that a user names: walked within bounds, whole file systems not at all."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable

MAX_FILES = 20_000  # files and folders of one thing; a home folder given by mistake is not walked for minutes
Folder = tuple[str, list[str]]  # its path, and the names of its files


class TooMany(ValueError):
    """A whole file system, or a tree of more files than were asked for; says which."""


def check(path: str) -> None:
    """Raise TooMany for a whole file system."""
    real = os.path.realpath(path)
    if os.path.dirname(real) == real:
        raise TooMany("a whole file system")


def walk(
    path: str,
    most: int,
    enter: Callable[[str], bool] = lambda _: True,
    passed: Callable[[str, str], object] = lambda *_: None,
) -> list[Folder]:
    """A folder and those below it, sorted; links to folders are not followed, what is not ours to read is left out.

    enter: is a folder below it, by its path, meant? passed: called with what else is left out, and why. Raises TooMany at
    once for a whole file system, and where there are more than `most` files and folders: before any of them was opened.
    """
    check(path)
    found, left, seen = list[Folder](), [path], 0
    while left:
        here = left.pop()
        folders, files = list[str](), list[str]()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    seen += 1
                    if seen > most:
                        raise TooMany(f"a folder of more than {most:,} files")
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False) or os.path.isfile(entry.path):  # no link in a circle
                        files.append(entry.name)
                    else:
                        passed(entry.path, "a link, to no file" if entry.is_symlink() else "not a file")
        except OSError as e:
            passed(here, f"cannot be read ({e.strerror or e})")
        found.append((here, sorted(files)))
        left += [f for f in folders if enter(f)]
    return sorted(found)


def matching(pattern: str) -> list[str]:
    """What a glob names, sorted. Raises TooMany where it would search a whole file system."""
    if "**" in pattern:
        # up to the first wildcard, and of that the folder
        check(os.path.dirname(re.split(r"[*?[]", pattern, maxsplit=1)[0]))
    return sorted(glob.glob(pattern, recursive=True))
