"""Scripts of the checkout that are no modules of a package."""

import importlib.util
import sys
from pathlib import Path
from typing import Any


def load(path: Path) -> Any:
    """The script as a module."""
    name = f"{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
