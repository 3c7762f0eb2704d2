"""Graphs as SVG, PNG, DOT and in the terminal."""

from __future__ import annotations

from io import BytesIO
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings

from solvent.errors import Misuse
from solvent.pictures import Edge, Graph, Node, dot, drawn, png, svg, text
from solvent.pictures.shapes import DARK, ENDS, LIGHT, LINES, RECTS, TEXTS, Rect, Sheet
from tests.unit.pictures.strategies import graphs

SVG = "{http://www.w3.org/2000/svg}"
RUN = Graph(
    (Node("a", state="start"), Node("b"), Node("c", state="final")),
    (Edge(0, 1, "run", "x"), Edge(1, 2, "run", "y"), Edge(0, 2, "", "z"), Edge(2, 0, "back", "again")),
    "run",
    ("what is below",),
    noun="state",
    when="by",
)


def _xml(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own text


@given(graphs())
def test_any_graph_is_one_well_formed_svg(graph: Graph) -> None:
    """Each node is a group, and what is drawn has a colour in light and in dark."""
    picture = svg(drawn(graph))
    assert len(_xml(picture).findall(f"{SVG}g")) == len(graph.nodes)
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


@given(graphs())
def test_any_graph_fits_the_terminal_and_graphviz(graph: Graph) -> None:
    """Nothing is wider than asked for, and Graphviz gets every edge."""
    assert all(len(line) <= 90 for line in text(graph, width=90).splitlines())
    assert dot(graph).count(" -> ") == len(graph.edges)


@given(graphs(max_nodes=6, max_edges=8))
@settings(max_examples=3, deadline=None)
def test_any_graph_is_a_png_of_its_size(graph: Graph) -> None:
    """There are two pixels for each of the picture's own."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    sheet = drawn(graph)
    width, height = image.open(BytesIO(png(sheet))).size
    assert abs(width - 2 * sheet.width) <= 2
    assert abs(height - 2 * sheet.height) <= 2


def test_a_png_shows_what_is_drawn() -> None:
    """The colour of a box is in the picture where the box is."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    sheet = Sheet(40, 40, "box", (Rect(10, 10, 20, 20, "done"),))
    pixels = image.open(BytesIO(png(sheet))).convert("RGB")
    wanted = LIGHT[RECTS["done"][0]]
    assert "#{:02x}{:02x}{:02x}".format(*pixels.getpixel((40, 40))) == wanted
    assert "#{:02x}{:02x}{:02x}".format(*pixels.getpixel((4, 4))) == LIGHT["paper"]


def test_what_is_too_large_for_png_is_refused() -> None:
    """An error says that SVG has no limit."""
    with pytest.raises(Misuse, match="too large") as raised:
        png(Sheet(100_000, 10, "wide", ()))
    assert (raised.value.code, "SVG" in raised.value.hint) == ("H361", True)


def test_every_colour_is_there_in_light_and_in_dark() -> None:
    """No kind of shape names a colour that one of them lacks."""
    named = {one.colour for one in (*LINES.values(), *TEXTS.values())} | {*ENDS.values()}
    named |= {colour for pair in RECTS.values() for colour in pair}
    assert named <= LIGHT.keys()
    assert LIGHT.keys() == DARK.keys()


def test_a_way_that_is_to_be_seen_lies_above() -> None:
    """Its lines are drawn last, with heads of their colour."""
    lines = [path for path in _xml(svg(drawn(RUN))).findall(f"{SVG}path") if path.get("d", "").startswith("M")]
    kinds = [path.get("class") for path in lines]
    assert kinds[-4:] == ["run"] * 4
    assert [path.get("marker-end") for path in lines[-4:]].count("url(#return)") == 2


def test_what_leads_back_is_told_in_the_terminal() -> None:
    """The word before the label is the graph's own."""
    graph = Graph(RUN.nodes[:2], (Edge(0, 1), Edge(1, 0, "back", "max")), "two", when="by")
    assert "↺ back to a by max" in text(graph)


def test_text_that_xml_cannot_say() -> None:
    """Signs that may not stand in XML are replaced, and the rest is escaped."""
    root = _xml(svg(drawn(Graph((Node("a\x00<b>&\ud800"),), name="\x1b"))))
    assert [one.text for one in root.iter(f"{SVG}text")] == ["a\ufffd<b>&\ufffd"]


def test_wide_letters_take_two_columns() -> None:
    """A box around letters of two columns is closed on all lines."""
    assert text(Graph((Node("日本"),))).splitlines() == ["┌──────┐", "│ 日本 │", "└──────┘"]


def test_texts_stand_where_they_are_put() -> None:
    """Where a text begins is its own attribute; a style would win over it, and cut legends off at the left."""
    root = _xml(svg(drawn(RUN)))
    (legend,) = root.findall(f"{SVG}text[@class='legend']")
    assert (root.get("text-anchor"), legend.get("text-anchor")) == ("middle", "start")
    assert "text-anchor:" not in svg(drawn(RUN))
