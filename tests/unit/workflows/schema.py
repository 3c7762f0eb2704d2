"""The published schema of workflow files, for the tests that hold files against it."""

from __future__ import annotations

import json

import jsonschema

from tests.repo.project import ROOT

SCHEMA = json.loads((ROOT / "docs" / "reference" / "workflow.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
"""One for all tests: `jsonschema.validate` would look at the schema itself each time, too."""
