"""The gallery of patterns in the documentation is what the examples, the rules and the exploration give."""

from __future__ import annotations

import difflib

from tests.patterns.catalogue import examples
from tests.patterns.gallery import GROUPS, PAGES, made
from tests.repo.project import name_in_project


def test_gallery_is_up_to_date() -> None:
    """The pages and pictures are those that `make gallery` would write, and no others."""
    wanted = made()
    for file, text in wanted.items():
        seen = file.read_text(encoding="utf-8") if file.exists() else ""
        changes = difflib.unified_diff(seen.splitlines(), text.splitlines(), "written", "would be", lineterm="", n=0)
        assert seen == text, f"{name_in_project(file)}: run `make gallery`\n" + "\n".join([*changes][:20])
    assert {file for file in PAGES.iterdir() if file not in wanted} == set()


def test_every_example_is_in_one_group() -> None:
    """No pattern is left out of the gallery, and none is shown twice."""
    numbers = [number for _, _, group in GROUPS for number in group]
    assert sorted(numbers, key=str) == sorted({one.number for one in examples()}, key=str)
