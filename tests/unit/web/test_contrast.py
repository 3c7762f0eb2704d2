"""The colours of the page: whatever is written in one of them can be read."""

from __future__ import annotations

import re

import pytest

from tests.repo.project import ROOT

SHEET = ROOT / "src" / "solvent" / "web" / "page" / "style.css"
LEAST = 4.5
"""What WCAG 2 asks of small text (level AA)."""
GROUNDS = ("sheet", "ground", "raised", "sunk")
STATES = ("running", "done", "failed", "cancelled", "replaced", "asleep", "adapted", "accent")
PAIRS = [
    *((text, ground) for text in ("text", "text-soft", "text-faint", *STATES) for ground in GROUNDS),
    *((text, f"{state}-soft") for text in ("text", "text-soft", "text-faint") for state in STATES),
    *((state, f"{state}-soft") for state in STATES),
    ("on-accent", "accent"),
]


def colours(theme: str) -> dict[str, str]:
    """Read the colours of a theme; what the dark one does not say is as in the light one."""
    blocks = re.findall(r"^:root(\[data-theme=\"dark\"\])? \{(.*?)^\}", SHEET.read_text(), re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    for is_dark, block in blocks:
        if theme == "dark" or not is_dark:
            found |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    return found


def contrast(one: str, other: str) -> float:
    """Compare two colours as WCAG 2 does: from 1, the same, to 21, black on white."""
    dim, bright = sorted((_luminance(one), _luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_written_can_be_read(theme: str) -> None:
    """Texts and states have enough contrast on every ground on which they are written."""
    known = colours(theme)
    ratios = {(text, ground): round(contrast(known[text], known[ground]), 2) for text, ground in PAIRS}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < LEAST} == {}
