"""The HTML page: packed data, drawings, style and script."""
