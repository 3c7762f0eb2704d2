"""The first page of the documentation lists every page, and a link to a heading leads to one."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.repo.project import ROOT, name_in_project, pages

if TYPE_CHECKING:
    from pathlib import Path

INDEX = ROOT / "docs" / "index.md"
_FENCED = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^- \[[^\]]+\]\((?P<target>[^)#]+)\)", re.MULTILINE)
_LINK_TO_HEADING = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)#\s:]*)#(?P<anchor>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<text>.+?) *$", re.MULTILINE)


@cache
def _prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


@cache
def _anchors(page: Path) -> set[str]:
    """Give the headings of a page as links name them: in lower case, without signs, words joined by a hyphen."""
    anchors: set[str] = set()
    for heading in _HEADING.finditer(_prose(page)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading["text"])
        plain = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        # A heading that a page has before is numbered.
        again = sum(1 for anchor in anchors if re.fullmatch(re.escape(plain) + r"(-\d+)?", anchor))
        anchors.add(f"{plain}-{again}" if again else plain)
    return anchors


def test_the_first_page_lists_every_page() -> None:
    """The site's navigation, which is read off the first page, leads to every page of `docs/`."""
    listed = {(INDEX.parent / entry["target"]).resolve() for entry in _ENTRY.finditer(_prose(INDEX))}
    below = {page for page in pages() if page.parent.name == "patterns"}
    written = {page for page in pages() if page.parent != ROOT} - below - {INDEX}
    assert sorted(map(name_in_project, written - listed)) == []
    assert sorted(str(page) for page in listed if not page.exists()) == []


@pytest.mark.parametrize("page", [pytest.param(page, id=name_in_project(page)) for page in pages()])
def test_links_to_headings_lead_to_one(page: Path) -> None:
    """What stands after the `#` of a link is a heading of the page it leads to."""
    dead = [
        link.group()
        for link in _LINK_TO_HEADING.finditer(_prose(page))
        if link["anchor"] not in _anchors(page if not link["target"] else (page.parent / link["target"]).resolve())
    ]
    assert dead == []
