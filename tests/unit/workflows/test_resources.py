"""Resources of workflows: what they are, and how files say them."""

from __future__ import annotations

import pytest

from solvent.errors import WorkflowProblem
from solvent.workflows.diagram import dot, svg, text
from solvent.workflows.formats.files import load_text, write
from solvent.workflows.formats.yaml.writer import plain_workflow
from solvent.workflows.model import (
    Claim,
    Input,
    Resource,
    Service,
    Task,
    Value,
    Workflow,
    dtype_name,
    item_bytes,
)
from tests.unit.workflows.schema import VALIDATOR

GRID = Resource("grid", (Input("n"), 10), "float32", save=Input("out"))
FLOW = Workflow(
    "heat",
    (
        Task("fill", "s", (Claim("grid"), Value({"resource": 1})), {"table": Claim("my table", "read", 3, 2)}),
        Task("look", "s", (Claim("grid", "read", 1),), after=("fill",)),
        Task("sort", "c", (), {"grid": Claim("image")}),
    ),
    (Service("s", target="heat:step"), Service("c", "shell", "sort -o {grid} {grid}")),
    inputs={"n": 5, "out": "grid.npy"},
    resources=(GRID, Resource("my table", size=100, undo=False), Resource("image", file="$image.raw")),
)


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".hocl"])
def test_a_workflow_with_resources_is_written_and_read_again(suffix: str) -> None:
    """Every notation says all that there is about resources and claims."""
    assert load_text(write(FLOW, suffix=suffix), name=f"heat{suffix}").workflow == FLOW


def test_resources_in_a_file() -> None:
    """YAML has a line for each resource, and claims among the arguments."""
    lines = write(FLOW, suffix=".yaml").splitlines()
    assert '  grid: {shape: ["$n", 10], dtype: float32, save: "$out"}' in lines
    assert "  look: {service: s, in: [{resource: grid, mode: read, offset: 1}], after: [fill]}" in lines


def test_what_is_written_follows_the_schema() -> None:
    """The schema knows resources and claims, and what neither can be."""
    assert VALIDATOR.is_valid(plain_workflow(FLOW))
    assert not VALIDATOR.is_valid({"resources": {"grid": {"dtype": "float32"}}, "tasks": {"T": {"service": "s"}}})
    assert not VALIDATOR.is_valid({"tasks": {"T": {"service": "s", "in": [{"resource": "grid", "mode": "both"}]}}})
    assert not VALIDATOR.is_valid({"tasks": {"T": {"service": "s", "in": [{"resource": "grid", "rows": 3}]}}})


@pytest.mark.parametrize(
    "written, said",
    [
        ("{grid: {shape: [3, 0]}}", "W105 w.yaml:1:31 a length cannot be 0"),
        ("{grid: {shap: [3]}}", "W103 w.yaml:1:20 the resource `grid` has no key `shap`"),
        ("{grid: {size: 3, dtype: int8}}", "W105 w.yaml:1:29 only an array has a `dtype`"),
        ("{grid: {size: 3, undo: 2}}", "W104 w.yaml:1:29 `undo` is true or false, not a number"),
        ("[grid]", "W104 w.yaml:1:1 `resources` must be a mapping, not a list"),
    ],
)
def test_a_resource_that_cannot_be_read_is_shown(written: str, said: str) -> None:
    """What is wrong with a resource in a file is said with its place."""
    with pytest.raises(WorkflowProblem) as caught:
        load_text(f"resources: {written}\ntasks: {{}}\n", name="w.yaml")
    assert f"{caught.value.code} {caught.value.place} {caught.value.message}" == said


@pytest.mark.parametrize(
    "written, said",
    [
        ("{resource: grid, mode: red}", "W105 w.yaml:2:41 a resource cannot be had to `red`"),
        ("{resource: grid, offset: -1}", "W105 w.yaml:2:41 `offset` is a position: 0, 1, 2 ..."),
        ("{resource: grid, item: 1}", "W103 w.yaml:2:41 an argument with `resource` has no key `item`"),
    ],
)
def test_a_claim_that_cannot_be_read_is_shown(written: str, said: str) -> None:
    """What is wrong with a claim in a file is said with its place."""
    with pytest.raises(WorkflowProblem) as caught:
        load_text(f"tasks:\n  T: {{service: s, in: [{written}]}}\n", name="w.yaml")
    assert f"{caught.value.code} {caught.value.place} {caught.value.message}" == said


@pytest.mark.parametrize(
    "written, code",
    [
        ("RESOURCES : <grid : 3>", "W107"),
        ("RESOURCES : <grid : <SHAP : 3>>", "W103"),
        ("RESOURCES : <grid : <SIZE : 3, SIZE : 4>>", "W102"),
        ("RESOURCES : <grid : <SIZE : 3>, grid : <SIZE : 3>>", "W102"),
        ('RESOURCES : <grid : <SIZE : "big">>', "W104"),
        ("T2 : <SRV : s, IN : <(RESOURCE : grid : WRONG)>>", "W107"),
    ],
)
def test_hoclflow_refuses_other_resources(written: str, code: str) -> None:
    """The text of the paper has one form of resources and claims."""
    with pytest.raises(WorkflowProblem) as caught:
        load_text(f'<SERVICE : s : <SHELL : "date">, T1 : <SRV : s>, {written}>', name="w.hocl")
    assert caught.value.code == code


def test_pictures_show_who_has_what() -> None:
    """Tasks that write and read resources say so in every picture."""
    for picture in (text(FLOW), dot(FLOW), svg(FLOW)):
        assert "writes grid" in picture
        assert "reads grid[1:]" in picture


def test_types_go_by_their_names() -> None:
    """A type may be written as Python or NumPy have it."""
    np = pytest.importorskip("numpy")
    written = [float, int, np.float32, np.dtype("int16"), "uint8", np.bool_]
    assert [dtype_name(one) for one in written] == ["float64", "int64", "float32", "<i2", "uint8", "bool"]
    assert all(item_bytes(dtype_name(one)) == np.dtype(one).itemsize for one in written)
