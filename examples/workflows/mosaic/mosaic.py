"""An image mosaic in the shape of Montage: project, difference of pairs, fit, correct, add.

Four overlapping photographs of the sky, each turned and each with a background of its own, become one. An aeroplane
crosses one of them, so that the mean differences mislead; that is noticed when the corrected images are compared, and
the fits are made again with medians. `solvent run mosaic.py` writes `out/mosaic.ppm`.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from statistics import fmean, median

from images import SIDE, SKY, Image, from_pixels, read, sky, turn, write

from solvent.workflow import attempt, service, workflow

BACKGROUNDS = [0, 25, -15, 10]
EQUAL = 128  # the brightness of a difference of nothing
ROUNDS = 200


@service
def photograph(number: int, folder: str) -> str:
    """Take a photograph of a quarter of the sky, and some of its neighbours."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    left, top = (number % 2) * (SKY - SIDE), (number // 2) * (SKY - SIDE)
    rows = [[value + BACKGROUNDS[number] for value in row[left : left + SIDE]] for row in sky().rows[top : top + SIDE]]
    if number == 1:
        for i in range(SIDE):  # the trail of an aeroplane, from the left to the bottom
            rows[i][i // 3 : i // 3 + 2] = [255, 255]
    image = Image(rows, left, top)
    for _ in range(number):
        image = turn(image)
    return write(image, Path(folder) / f"photograph_{number}.ppm")


@service
def project(path: str) -> str:
    """Turn a photograph so that it fits the sky."""
    image = read(path)
    while image.turned:
        image = turn(image)
    return write(image, path.replace("photograph", "projected"))


@service
def overlaps(paths: list[str]) -> list[tuple[str, str]]:
    """Find the pairs of images that have a part of the sky in common."""
    places = {path: read(path).pixels.keys() for path in paths}
    return [(one, other) for one, other in combinations(paths, 2) if places[one] & places[other]]


@service
def difference(pair: tuple[str, str]) -> str:
    """Subtract two images where they overlap."""
    one, other = (read(path).pixels for path in pair)
    name = "difference_{}_{}.ppm".format(*(Path(path).stem[-1] for path in pair))
    changes = {place: EQUAL + one[place] - other[place] for place in one.keys() & other.keys()}
    return write(from_pixels(changes), Path(pair[0]).with_name(name))


@service
def fit(path: str) -> float:
    """Say by how much one image is brighter than the other: in the mean."""
    return fmean(read(path).pixels.values()) - EQUAL


@service
def fit_by_median(path: str) -> float:
    """Say by how much one image is brighter than the other: for most pixels."""
    return median(read(path).pixels.values()) - EQUAL


@service
def model(paths: list[str], pairs: list[tuple[str, str]], fits: list[float]) -> list[float]:
    """Find the background of each image that explains the differences best; the first one has none."""
    links = [link for (a, b), d in zip(pairs, fits, strict=True) for link in ((a, b, d), (b, a, -d))]
    found = dict.fromkeys(paths, 0.0)
    for _ in range(ROUNDS):
        for path in paths[1:]:
            found[path] = fmean(found[other] + brighter for one, other, brighter in links if one == path)
    return [found[path] for path in paths]


@service
def correct(path: str, background: float) -> str:
    """Take the background away."""
    pixels = {place: value - background for place, value in read(path).pixels.items()}
    return write(from_pixels(pixels), path.replace("projected", "corrected"))


@service
def seam(paths: list[str]) -> float:
    """Give the largest difference that is left between corrected images."""
    images = [read(path).pixels for path in paths]
    return max(
        abs(median(one[place] - other[place] for place in one.keys() & other.keys()))
        for one, other in combinations(images, 2)
    )


@service
def add(paths: list[str]) -> str:
    """Put the images together; where they overlap, a pixel is the median of what they say."""
    found: dict[tuple[int, int], list[int]] = {}
    for path in paths:
        for place, value in read(path).pixels.items():
            found.setdefault(place, []).append(value)
    pixels = {place: median(values) for place, values in found.items()}
    return write(from_pixels(pixels), Path(paths[0]).with_name("mosaic.ppm"))


@service
def describe(path: str, largest: float) -> str:
    """Say what has been made."""
    image = read(path)
    return f"{path}: {len(image.rows[0])} x {len(image.rows)} pixels, largest seam {largest:g}"


@workflow
def mosaic(folder: str = "out") -> str:
    """Make one picture of four."""
    projected = project.each(photograph.each([0, 1, 2, 3], folder=folder))
    pairs = overlaps(projected)
    differences = difference.each(pairs)
    fits = fit.each(differences)
    corrected = correct.each(projected, model(projected, pairs, fits))
    largest = seam(corrected)
    attempt(fits, otherwise=fit_by_median.each(differences), when="result > 2.0", watch=largest, name="seams")
    return describe(add.after(largest)(corrected), largest)
