"""The published schema of workflow files."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from solvent.source import Source
from solvent.workflows.formats.yaml import reader
from solvent.workflows.formats.yaml.tree import tree_of
from tests.repo.project import ROOT
from tests.unit.workflows.schema import SCHEMA, VALIDATOR

EXAMPLES = sorted(
    file
    for suffix in ("yaml", "yml", "json")
    for file in (ROOT / "examples").rglob(f"*.{suffix}")
    if "workflow" in file.parts or '"tasks"' in file.read_text() or "\ntasks:" in file.read_text()
)


def test_the_schema_is_a_schema() -> None:
    """The schema follows its own standard."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "part, keys",
    [
        (None, reader.WORKFLOW_KEYS),
        ("service", reader.SERVICE_KEYS),
        ("task", reader.TASK_KEYS),
        ("resource", reader.RESOURCE_KEYS),
        ("alternative", reader.ALTERNATIVE_KEYS),
    ],
)
def test_the_schema_has_the_keys_that_the_reader_knows(part: str | None, keys: tuple[str, ...]) -> None:
    """No key is missing in the schema, and none is there that a file cannot have."""
    found = SCHEMA if part is None else SCHEMA["$defs"][part]
    assert found["properties"].keys() == set(keys)


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
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
