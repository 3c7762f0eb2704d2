"""How `make docs` makes a site of the pages: Sphinx reads their Markdown as it stands in the repository.

The project's folder is the source, and not `docs/` alone, so that a link to an example or to a program leads to the
same file here and on the site. What stands beside the pages, in order and under which heading, is read off
`docs/index.md`: a page that is not listed there makes the build fail.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]

project = "Solvent"
author = "the authors of Solvent"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
copyright = author  # noqa: A001 - the name is Sphinx's

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/**", "examples/**", "CONTRIBUTING.md", "CHANGELOG.md"]
# The last are what runs of the examples write.
exclude_patterns = [".*", "build", "src", "tests", "bench", "examples/workflows/*/out"]
# Links to headings are those that other readers of Markdown make.
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Solvent {version}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
# Nothing comes from elsewhere: no fonts, no scripts, no counting.
html_theme_options = {"top_of_page_buttons": []}
html_use_index = False

# Pages under one that lists them in its own way.
_BELOW = {
    "docs/reference/patterns": ["patterns/*"],
    "examples/workflows/README": ["*/README"],
    "examples/protocols/README": ["*/README"],
}
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\.md\)", re.MULTILINE)
_FILE = re.compile(r"^```(\w+) file=(\S+)$", re.MULTILINE)
_START = """<!doctype html>
<meta charset="utf-8"><title>Solvent</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">Solvent</a>
"""


def setup(app: Sphinx) -> None:
    """Change what is read, and add a page where people look for the first one."""
    app.connect("source-read", _add_navigation)
    app.connect("source-read", _name_files)
    app.connect("build-finished", _write_start)


def _add_navigation(_app: Sphinx, name: str, source: list[str]) -> None:
    """Let the first page's lists of pages, and the pages below others, stand beside every page."""
    if name == root_doc:
        _, *parts = _HEADING.split(source[0])
        for heading, text in zip(parts[::2], parts[1::2], strict=True):
            entries = [f"{title} <{target}>" for title, target in _ENTRY.findall(text)]
            source[0] += _toctree(f":caption: {heading}", entries) if entries else ""
    elif name in _BELOW:
        source[0] += _toctree(":glob:", _BELOW[name])


def _toctree(option: str, entries: list[str]) -> str:
    return "\n```{toctree}\n" + "\n".join([option, ":hidden:", "", *entries]) + "\n```\n"


def _name_files(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Write the name of a file over its text: commands of the page expect it."""
    source[0] = _FILE.sub(r"```{code-block} \1\n:caption: \2\n", source[0])


def _write_start(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        (Path(app.outdir) / "index.html").write_text(_START, encoding="utf-8")
