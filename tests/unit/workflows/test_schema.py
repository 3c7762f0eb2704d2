"""The published schema of workflow files."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from solvent.source import Source
from solvent.workflows.formats.yaml.schema import schema_text, workflow_schema
from solvent.workflows.formats.yaml.tree import tree_of
from solvent.workflows.formats.yaml.writer import plain_workflow
from tests.repo.project import ROOT
from tests.unit.workflows.diamond import DIAMOND

PUBLISHED = ROOT / "docs" / "reference" / "workflow.schema.json"
EXAMPLES = sorted(
    file
    for suffix in ("yaml", "yml", "json")
    for file in (ROOT / "examples").rglob(f"*.{suffix}")
    if "workflow" in file.parts or '"tasks"' in file.read_text() or "\ntasks:" in file.read_text()
)


# One for all tests: `jsonschema.validate` would look at the schema itself each time, too.
VALIDATOR = jsonschema.Draft202012Validator(workflow_schema())


def is_valid(data: Any) -> bool:
    """Say whether the schema accepts some data."""
    return VALIDATOR.is_valid(data)


def test_the_published_schema_is_this_one() -> None:
    """The file in the documentation is what the code says."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()


def test_the_schema_is_a_schema() -> None:
    """The schema follows its own standard."""
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_a_file_with_everything_is_valid() -> None:
    """What is written for a workflow with every field follows the schema."""
    VALIDATOR.validate(plain_workflow(DIAMOND))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_example_files_are_valid(file: Any) -> None:
    """Every workflow file of the examples follows the schema."""
    data = tree_of(Source(file.read_text(encoding="utf-8"), file.name)).data
    if "schemaVersion" not in data:
        VALIDATOR.validate(data)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "tasks: []",
        "{tasks: {}, task: {}}",
        "tasks: {A: {}}",
        "tasks: {A: {service: s, in: 3}}",
        "tasks: {A: {service: s, in: [], from: []}}",
        "tasks: {A: {service: s, in: [{from: B, items: 1}]}}",
        "tasks: {A: {service: s, each: {dot: [0], cross: [1]}}}",
        "{tasks: {}, services: {s: {}}}",
        "{tasks: {}, services: {s: {shell: a, http: b}}}",
        "{tasks: {}, services: {s: {shell: a, timeout: 0}}}",
        "{tasks: {}, alternatives: [{exits: {A: B}, 'on': never}]}",
    ],
)
def test_wrong_files_are_invalid(text: str) -> None:
    """The schema refuses what the reader refuses."""
    assert not is_valid(yaml.safe_load(text))
