"""The changelog keeps its form: unreleased changes on top, releases newest first, sections in one order."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

from tests.repo.project import ROOT

SECTIONS = ["Removed", "Deprecated", "Added", "Changed", "Fixed", "Security"]

_RELEASE = re.compile(r"## \[(?P<version>\d+\.\d+\.\d+)\] - (?P<date>\d{4}-\d{2}-\d{2})")


@dataclass
class Part:
    """What stands under one heading of the second level: sections, each with its entries."""

    heading: str
    sections: list[tuple[str, list[str]]] = field(default_factory=list)


def _lines() -> list[str]:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()


def _parts() -> list[Part]:
    """Read the changelog; an entry may go on in lines that are indented under it."""
    parts: list[Part] = []
    for line in _lines():
        if line.startswith("## "):
            parts.append(Part(line))
        elif line.startswith("### "):
            parts[-1].sections.append((line.removeprefix("### "), []))
        elif parts and line.startswith("  "):
            parts[-1].sections[-1][1][-1] += " " + line.strip()
        elif parts and line and not re.match(r"\[[^\]]+\]: ", line):
            parts[-1].sections[-1][1].append(line)
    return parts


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def _releases() -> list[tuple[tuple[int, ...], str]]:
    matches = [_RELEASE.fullmatch(part.heading) for part in _parts()[1:]]
    return [(_numbers(match["version"]), match["date"]) for match in matches if match]


def test_unreleased_changes_come_first() -> None:
    """The title is followed by what is not released yet."""
    assert _lines()[0] == "# Changelog"
    assert _parts()[0].heading == "## [Unreleased]"


def test_releases_have_a_version_and_a_date() -> None:
    """Every other heading is a version in brackets and the day of its release."""
    assert [part.heading for part in _parts()[1:] if not _RELEASE.fullmatch(part.heading)] == []


def test_releases_go_from_newest_to_oldest() -> None:
    """Versions fall and dates do not rise from top to bottom."""
    versions = [version for version, _ in _releases()]
    dates = [date for _, date in _releases()]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_no_release_is_newer_than_the_package() -> None:
    """The changelog does not promise a release that the package has not reached."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [version for version, _ in _releases() if version > _numbers(project["version"])] == []


def test_sections_are_known_and_in_order() -> None:
    """Changes are sorted by what they mean to a user, each kind at most once and in one order."""
    for part in _parts():
        names = [name for name, _ in part.sections]
        assert names == [name for name in SECTIONS if name in names], part.heading


def test_entries_are_sentences_in_a_list() -> None:
    """Every section has entries, and every entry is a list item that ends like a sentence."""
    for part in _parts():
        for name, entries in part.sections:
            assert entries, f"{part.heading}: {name} is empty"
            assert [entry for entry in entries if not re.fullmatch(r"- \S.*[.!?)]", entry)] == []
