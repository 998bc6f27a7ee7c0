"""Files of a user's template: itself, other templates below its folder, and the project's shared parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jinja2
from jinja2.loaders import split_template_path

from triage.files import beneath, bounded

MAX_BYTES = 1 << 20  # of one template


class Below(jinja2.BaseLoader):
    """Loads a template by its own path, and others (`*.j2`) below its folder, through no link."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get_source(self, env: jinja2.Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """See jinja2.BaseLoader."""
        parts = split_template_path(template)
        try:
            if template == self.path.name:
                data = bounded.read(self.path, MAX_BYTES)
            elif not template.endswith(".j2"):
                raise jinja2.TemplateNotFound(template, f"{template}: not a template (*.j2)")
            else:
                data = bounded.read_handle(beneath.open_below(self.path.parent, parts), MAX_BYTES)
        except bounded.TooLarge as e:
            raise jinja2.TemplateNotFound(template, f"{template}: {e}") from None
        except OSError:
            raise jinja2.TemplateNotFound(template) from None
        return data.decode("utf-8"), str(self.path.parent.joinpath(*parts)), lambda: True
