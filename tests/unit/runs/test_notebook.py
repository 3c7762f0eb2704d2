"""Solutions, runs, workflows and explorations in a real notebook, and what it shows of workflows and their runs."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

import solvent
from solvent import attempt, service, workflow
from solvent.workflows.model import Service, Task, Workflow

CELLS = {
    "import solvent\nsolution = solvent.hocl.parse('<2, 3, (sum = replace x::int, y::int by x + y)>').solution()\n"
    "solution": ("text/html", "3 molecules, not inert"),
    "solvent.hocl.react(solution)": ("text/html", "inert after 1 reaction"),
    "solution": ("text/html", "2 molecules, inert"),
    "solvent.hocl.record(solvent.hocl.parse('<1, (go = replace-one x by 2)>').solution())": ("text/html", "go"),
    "from solvent import hocl\nhocl.explore(hocl.parse('<1, 2, 3, (replace x::int, y::int by x)>').solution())": (
        "image/svg+xml",
        "<svg",
    ),
    "from solvent import service, workflow\n@service\ndef double(n: int) -> int: return 2 * n\n"
    "@workflow\ndef flow(n: int = 4) -> int: return double(n)\nflow": ("image/svg+xml", "double"),
    "solvent.run(flow)": ("text/html", "flow succeeded"),
}


@service
def _fetch(name: str) -> str:
    raise ConnectionError(f"<b>{name}</b> does not answer")


@service
def _copy(name: str) -> str:
    return f"<old copy of {name}>"


@workflow
def _pages(name: str = "news") -> str:
    return attempt(_fetch(name), otherwise=_copy(name))


def test_a_real_notebook_shows_all_of_them() -> None:
    """A kernel of Jupyter shows each in its own way, without anything that is loaded first."""
    words = "there is no Jupyter here, so no notebook is run"
    nbformat = pytest.importorskip("nbformat", reason=words)
    nbclient = pytest.importorskip("nbclient", reason=words)
    pytest.importorskip("ipykernel", reason=words)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(book, timeout=100, kernel_name="python3").execute()
    for cell, (kind, said) in zip(book.cells, CELLS.values(), strict=True):
        (output,) = cell.outputs
        assert said in output["data"][kind], cell.source


def test_a_report_is_a_table_of_tasks() -> None:
    """A report tells how the run ended, each task with its state, and what was adapted; all as text."""
    html = solvent.run(_pages)._repr_html_()
    page = ET.fromstring(html)  # noqa: S314 - our own text
    rows = [["".join(cell.itertext()) for cell in row.iter("td")] for row in page.iter("tr")][1:]
    assert [(row[0], row[1]) for row in rows] == [("fetch", "replaced"), ("copy", "done")]
    assert "pages succeeded" in html
    assert "&lt;old copy of news&gt;" in html
    assert "adapted: " in html


def test_a_workflow_is_a_picture() -> None:
    """A workflow, and the function that makes one, are an image with all tasks."""
    image = _pages._repr_svg_()
    assert image == _pages.definition()._repr_svg_()
    said = {"".join(one.itertext()) for one in ET.fromstring(image).iter() if one.tag.endswith("text")}  # noqa: S314
    assert {"fetch", "copy"} <= said


def test_a_large_workflow_is_drawn_in_few_boxes() -> None:
    """Of a thousand tasks that do the same, one box is drawn."""
    tasks = tuple(Task(f"t{number}", service="work") for number in range(1_000))
    image = Workflow("large", tasks, services=(Service("work", kind="shell", target="true"),))._repr_svg_()
    assert len(image) < 20_000
    assert "1,000" in image or "1000" in image
