"""`solvent show`, `timeline` and `convert --to hocl`: pictures of a workflow and its run, and its program."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.cli.command import arguments, environment, solvent
from tests.cli.workflows import FORMS, YAML, calls, put

if TYPE_CHECKING:
    from pathlib import Path


def test_picture_in_the_terminal(tmp_path: Path) -> None:
    """Tasks are boxes, and those of an alternative are dashed."""
    result = solvent("show", put(tmp_path, "flow.yaml", YAML))
    assert (result.code, result.err) == (0, "")
    assert "╎ E ╎" in result.out
    assert result.out.endswith("╌ E instead of B, on failure\n")
    assert calls(tmp_path) == []


def test_picture_as_svg_and_dot(tmp_path: Path) -> None:
    """The suffix of the file, or `--format`, says what is drawn."""
    file = put(tmp_path, "flow.yaml", YAML)
    assert solvent("show", file, "-o", tmp_path / "flow.svg").code == 0
    assert ET.parse(tmp_path / "flow.svg").getroot().tag.endswith("svg")  # noqa: S314 - written just now, by us
    assert solvent("show", file, "--format", "dot").out.startswith('digraph "numbers" {')
    assert solvent("show", file, "--format", "svg").out == (tmp_path / "flow.svg").read_text()


LOOP = """\
workflow: loop
services: {s: {shell: "true"}}
tasks:
  A: {service: s}
  B: {service: s, after: [A], join: any}
  C: {service: s, from: B, again: {to: B, when: "result < 3"}}
  D: {service: s, from: C, split: one, to: {E: "result > 9", F: null}}
  E: {service: s}
  F: {service: s, cancels: E}
"""


def test_pictures_of_loops_and_choices(tmp_path: Path) -> None:
    """What leads back, what is chosen by which condition, and who cancels whom can be seen in every picture."""
    file = put(tmp_path, "loop.yaml", LOOP)
    drawn = solvent("show", file).out
    for words in ("▽ any", "↺ back to B while result < 3", "△ one", "result > 9", "otherwise", "✗ cancels E"):
        assert words in drawn
    assert max(map(len, drawn.splitlines())) <= 100
    picture = solvent("show", file, "--format", "svg").out
    assert picture.count('<path class="back"') == 2
    assert picture.count('<path class="cancel"') == 1
    assert '"F" -> "E" [style=dashed, arrowhead=tee' in solvent("show", file, "--format", "dot").out


@pytest.mark.parametrize("name", FORMS)
def test_concrete_program_runs(tmp_path: Path, name: str) -> None:
    """The concrete program of every form gives the same results and calls, with the services of its workflow."""
    file = put(tmp_path, name, FORMS[name])
    concrete = tmp_path / "concrete.hocl"
    made = solvent("convert", "--to", "hocl", file, "--input", "n=5", "-o", concrete)
    assert (made.code, made.out, made.err) == (0, "", "")
    found = solvent("run", concrete, "--services", file, "--format", "json").json
    assert found["results"] == {"D": 50}
    assert found["calls"] == {"A": 1, "B": 1, "C": 1, "D": 1, "E": 3}


def test_concrete_program_is_readable(tmp_path: Path) -> None:
    """The rules it uses stand first, then the tasks; `fmt` finds nothing to change."""
    concrete = tmp_path / "concrete.hocl"
    text = solvent("convert", "--to", "hocl", put(tmp_path, "flow.yaml", YAML)).out
    concrete.write_text(text)
    assert text.startswith("let ")
    assert "let gw_call = replace PAR : t : p, SRV : s by SRV : s, invoke(t, s, p) in\n" in text
    assert solvent("fmt", "--check", concrete).code == 0


def test_concrete_program_without_services(tmp_path: Path) -> None:
    """Without the workflow whose services it calls, an error says what to do."""
    concrete = tmp_path / "concrete.hocl"
    concrete.write_text(solvent("convert", "--to", "hocl", put(tmp_path, "flow.yaml", YAML)).out)
    result = solvent("run", concrete)
    assert (result.code, "--services WORKFLOW" in result.err) == (2, True)


def test_argument_that_no_program_can_say(tmp_path: Path) -> None:
    """A value that only Python knows is named, with its task."""
    text = "services: {s: {shell: 'true'}}\ntasks: {T: {service: s, in: [1, {a: 2}]}}\n"
    result = solvent("convert", "--to", "hocl", put(tmp_path, "flow.yaml", text))
    assert (result.code, result.out) == (2, "")
    assert "error[W133]: the task `T` has the argument {'a': 2}, which a HOCL program cannot express" in result.err


def test_picture_as_png(tmp_path: Path) -> None:
    """A file that ends in `.png` is one, and so is what goes down a pipe."""
    file = put(tmp_path, "flow.yaml", YAML)
    assert solvent("show", file, "-o", tmp_path / "flow.png").code == 0
    assert (tmp_path / "flow.png").read_bytes().startswith(b"\x89PNG")


def test_png_without_matplotlib(tmp_path: Path) -> None:
    """Where the extra is missing, it is said how to get it, and that SVG needs nothing."""
    put(tmp_path, "sitecustomize.py", "import sys\nsys.modules['matplotlib'] = None\n")
    file = put(tmp_path, "flow.yaml", YAML)
    started = subprocess.run(
        arguments("show", file, "-o", tmp_path / "flow.png"), capture_output=True, text=True, check=False,
        env=environment() | {"PYTHONPATH": f"{tmp_path}:{environment()['PYTHONPATH']}"},
    )  # fmt: skip
    assert started.returncode == 2
    assert "error[H360]" in started.stderr
    assert "solvent[figures]" in started.stderr


@pytest.mark.parametrize("ending", ["json", "gif"])
def test_picture_that_there_is_not(tmp_path: Path, ending: str) -> None:
    """An ending that stands for no picture of this kind is refused, and it is said which there are."""
    result = solvent("show", put(tmp_path, "flow.yaml", YAML), "-o", tmp_path / f"flow.{ending}")
    assert (result.code, f"error[H362]: this picture cannot be written as `.{ending}`" in result.err) == (2, True)
    assert "it can be: .svg, .dot, .gv, .png, .txt" in result.err
    assert not (tmp_path / f"flow.{ending}").exists()


STATES = "<2, 3, (max = replace x, y by x if x >= y), (min = replace x, y by y if x >= y)>"


def test_states_of_a_program(tmp_path: Path) -> None:
    """A program is drawn as its states, in every form."""
    file = put(tmp_path, "two.hocl", STATES)
    drawn = solvent("show", file)
    assert (drawn.code, drawn.out.count("final")) == (0, 2)
    assert "two runs that diverge: #0 → #1, and #0 → #2" in drawn.out
    assert solvent("show", file, "--format", "svg").out.count('<path class="run"') == 4
    assert '"#0" -> "#1" [label="max"' in solvent("show", file, "--format", "dot").out


def test_states_beyond_the_limit(tmp_path: Path) -> None:
    """What was seen is drawn, and the exit code says that there is more."""
    file = put(tmp_path, "less.hocl", "<9, (less = replace x by x - 1 if x > 0)>")
    result = solvent("show", file, "--max-states", "3")
    assert result.code == 3
    assert "… 1 more" in result.out
    assert "raise --max-states" in result.err


def test_states_of_a_workflow(tmp_path: Path) -> None:
    """With `--states` a workflow is drawn as what runs, and what can happen next."""
    put(tmp_path, "counting_of.py", "def one():\n    return 1\n")
    text = "services: {s: {python: 'counting_of:one'}}\ntasks: {A: {service: s}, B: {service: s, after: [A]}}\n"
    drawn = solvent("show", put(tmp_path, "flow.yaml", text), "--states")
    assert (drawn.code, "ends done" in drawn.out, "A runs" in drawn.out) == (0, True, True)


def test_options_of_states_without_states(tmp_path: Path) -> None:
    """What is about states is refused where none are drawn."""
    result = solvent("show", put(tmp_path, "flow.yaml", YAML), "--max-states", "3")
    assert (result.code, "`--max-states` needs --states" in result.err) == (2, True)


FLOW = """\
services: {get: {shell: "exit 3"}, copy: {shell: "echo 2"}, sum: {shell: "echo 5"}}
tasks:
  fetch:  {service: get}
  cached: {service: copy}
  total:  {service: sum, from: fetch}
alternatives: [{name: offline, exits: {fetch: cached}}]
"""


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Record a run in which an alternative applied."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    ran = solvent("run", tmp_path / "flow.yaml", "--store", tmp_path / "runs.db", "--name", "heal", cwd=tmp_path)
    assert ran.code == 0
    return str(tmp_path / "runs.db")


def test_in_the_terminal(store: str) -> None:
    """Each call has a bar and a sign, and the alternative its moment; a beginning of the name will do."""
    result = solvent("timeline", "he", "--store", store)
    assert (result.code, result.err) == (0, "")
    rows = {line.split()[0]: line for line in result.out.splitlines()}
    assert rows["heal:"].startswith("heal: done")
    assert ["✗" in rows["fetch"], "✓" in rows["cached"], "✓" in rows["total"]] == [True] * 3
    assert "offline: cached instead of fetch, because of fetch" in rows["↻"]


def test_as_files(store: str, tmp_path: Path) -> None:
    """The ending of the file says whether it is SVG, PNG or JSON."""
    for name in ("run.svg", "run.png", "run.json", "run.txt"):
        assert solvent("timeline", "heal", "--store", store, "-o", tmp_path / name).code == 0
    assert ET.parse(tmp_path / "run.svg").getroot().tag.endswith("svg")  # noqa: S314 - written just now, by us
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "run.txt").read_text().startswith("heal: done")


def test_as_json(store: str) -> None:
    """All times are in one line of JSON."""
    found = solvent("timeline", "heal", "--store", store, "--format", "json").json
    assert [(call["task"], call["state"]) for call in found["calls"]] == [
        ("fetch", "failed"), ("cached", "done"), ("total", "done"),
    ]  # fmt: skip
    assert [one["alternative"] for one in found["adaptations"]] == ["offline"]
    assert found["seconds"] >= found["calls"][-1]["ended"] >= found["calls"][-1]["began"] >= 0


def test_a_run_that_there_is_not(store: str) -> None:
    """An unknown name is refused as by the other commands."""
    result = solvent("timeline", "nobody", "--store", store)
    assert (result.code, "error[R401]" in result.err) == (solvent("status", "nobody", "--store", store).code, True)


def test_a_form_that_there_is_not(store: str, tmp_path: Path) -> None:
    """Times are no graph, so there is no DOT."""
    result = solvent("timeline", "heal", "--store", store, "-o", tmp_path / "run.dot")
    assert (result.code, "error[H362]" in result.err) == (2, True)
