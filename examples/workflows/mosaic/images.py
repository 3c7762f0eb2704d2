"""Grey images as PPM files, in plain Python, each with its place on the sky as a comment in its header.

    P6
    # at 16 0, turned 1
    24 24 255

begins one whose upper left corner is at column 16 and row 0, and which is turned a quarter to the right.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SKY = 40
SIDE = 24
_HEADER = re.compile(rb"P6\n# at (\d+) (\d+), turned (\d)\n(\d+) (\d+) 255\n")


@dataclass(frozen=True)
class Image:
    """Rows of brightnesses, from 0 to 255, and where they belong."""

    rows: list[list[int]]
    x: int = 0
    y: int = 0
    turned: int = 0

    @property
    def pixels(self) -> dict[tuple[int, int], int]:
        """The brightnesses by their places on the sky."""
        return {(self.x + i, self.y + j): value for j, row in enumerate(self.rows) for i, value in enumerate(row)}


def read(path: str) -> Image:
    """Read an image."""
    data = Path(path).read_bytes()
    header = _HEADER.match(data)
    assert header is not None, f"{path} is no image of ours"
    x, y, turned, width, height = map(int, header.groups())
    grey = data[header.end() :: 3]
    return Image([list(grey[row * width : (row + 1) * width]) for row in range(height)], x, y, turned)


def write(image: Image, path: Path | str) -> str:
    """Write an image and give its path."""
    head = f"P6\n# at {image.x} {image.y}, turned {image.turned}\n{len(image.rows[0])} {len(image.rows)} 255\n"
    body = bytes(max(0, min(255, round(value))) for row in image.rows for value in row for _colour in range(3))
    Path(path).write_bytes(head.encode() + body)
    return str(path)


def from_pixels(pixels: Mapping[tuple[int, int], float]) -> Image:
    """Make an image of brightnesses by their places, which fill a rectangle."""
    columns, lines = sorted({x for x, _ in pixels}), sorted({y for _, y in pixels})
    return Image([[round(pixels[x, y]) for x in columns] for y in lines], columns[0], lines[0])


def turn(image: Image) -> Image:
    """Turn an image a quarter to the right."""
    rows = [list(column) for column in zip(*image.rows[::-1], strict=True)]
    return replace(image, rows=rows, turned=(image.turned + 1) % 4)


def sky() -> Image:
    """Make a sky with stars, always the same."""
    chance = random.Random(7)
    stars = [(chance.uniform(0, SKY), chance.uniform(0, SKY), chance.uniform(40, 150)) for _ in range(30)]

    def brightness(x: int, y: int) -> int:
        return round(40 + sum(light * math.exp(-((x - a) ** 2) - (y - b) ** 2) for a, b, light in stars))

    return Image([[min(brightness(x, y), 200) for x in range(SKY)] for y in range(SKY)])
