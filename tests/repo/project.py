"""Where the project's files are, for the tests that look at the project itself."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python_files(*folders: str) -> list[Path]:
    """List the Python files below folders of the project; a folder that is not there has none."""
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


def pages() -> list[Path]:
    """List the pages whose snippets must hold: the README and all of `docs/`."""
    readme = ROOT / "README.md"
    return ([readme] if readme.exists() else []) + sorted((ROOT / "docs").rglob("*.md"))


def name_in_project(file: Path) -> str:
    """Give a file's path from the root, the same on every system."""
    return file.relative_to(ROOT).as_posix()
