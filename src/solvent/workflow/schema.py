"""The JSON schema of workflow files, which editors use to complete and to check them.

It is published as `docs/reference/workflow.schema.json`; a test sees to it that both are the same. A file names it in
its first line, which many editors understand:

    # yaml-language-server: $schema=https://.../workflow.schema.json
"""

from __future__ import annotations

import json
from typing import Any

from solvent.workflow.files.reading import CAUSES
from solvent.workflow.files.services import ABOVE_ZERO, COUNTS, KINDS

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_NAME: dict[str, Any] = {"anyOf": [_TEXT, {"type": "integer"}]}
_LIMITS = {
    "timeout": "Seconds after which an attempt is given up.",
    "retries": "Further attempts after the first.",
    "backoff": "Seconds before the first retry; doubled before each further one.",
    "backoff_max": "The longest wait before a retry, in seconds.",
    "concurrency": "Calls of the service that may run at the same time.",
    "rate": "Calls of the service that may begin in one second.",
    "heartbeat": "Seconds within which a running call must give a sign of life.",
}
_TARGETS: dict[str, dict[str, Any]] = {
    "python": {"description": "A Python function: `module:function`.", "type": ["string", "null"]},
    "shell": {"description": "A command; {0} and {name} stand for arguments.", "type": ["string", "null"]},
    "http": {"description": "The address that is called.", "type": ["string", "null"]},
    "hocl": {"description": "The path of a HOCL program.", "type": ["string", "null"]},
    "workflow": {
        "description": "The path of a workflow file, or a workflow in place.",
        "anyOf": [{"type": ["string", "null"]}, {"$ref": "#"}],
    },
    "replay": {"description": "Seconds to wait.", "type": ["number", "string", "null"]},
}


def workflow_schema() -> dict[str, Any]:
    """Give the schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Solvent workflow",
        "type": "object",
        "required": ["tasks"],
        "additionalProperties": False,
        "properties": {
            "workflow": {"description": "Its name.", **_NAME},
            "inputs": _described(
                "What the workflow is given, with defaults; null: it must be given. {default: null} is a default too.",
                {"type": ["object", "null"]},
            ),
            "services": _mapping_of("service", "What can be called."),
            "tasks": {**_mapping_of("task", "What is called, and with what."), "type": "object"},
            "alternatives": {
                "description": "Tasks that take the place of others.",
                "type": ["array", "null"],
                "items": {"$ref": "#/$defs/alternative"},
            },
            "results": _described("The tasks whose results are the workflow's.", {"$ref": "#/$defs/names"}),
        },
        "$defs": {
            "names": {"anyOf": [_TEXT, {"type": "array", "items": _NAME}, {"type": "null"}]},
            "service": _service(),
            "task": _task(),
            "argument": _argument(),
            "each": _each(),
            "alternative": _alternative(),
        },
    }


def schema_text() -> str:
    """Give the schema as the published file holds it."""
    return json.dumps(workflow_schema(), indent=2, ensure_ascii=False) + "\n"


def _described(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, **schema}


def _mapping_of(what: str, text: str) -> dict[str, Any]:
    return {
        "description": text,
        "type": ["object", "null"],
        "additionalProperties": {"$ref": f"#/$defs/{what}"},
    }


def _service() -> dict[str, Any]:
    limits = {key: _described(text, _limit(key)) for key, text in _LIMITS.items()}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **_TARGETS,
            "method": _described("The verb of an HTTP call; POST if not given.", _NAME),
            "options": _described("Further settings of the kind of service.", {"type": ["object", "null"]}),
            **limits,
        },
        "oneOf": [{"required": [kind]} for kind in KINDS],
    }


def _limit(key: str) -> dict[str, Any]:
    bound = {"exclusiveMinimum": 0} if key in ABOVE_ZERO else {"minimum": 0}
    return {"type": ["integer" if key in COUNTS else "number", "null"], **bound}


def _task() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["service"],
        "additionalProperties": False,
        "properties": {
            "service": _described("The service that is called.", _NAME),
            "in": _described(
                "The arguments, in order.",
                {"type": ["array", "null"], "items": {"$ref": "#/$defs/argument"}},
            ),
            "from": _described("Short for arguments that are all results of tasks.", {"$ref": "#/$defs/names"}),
            "with": _described(
                "Arguments by name.",
                {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/argument"}},
            ),
            "each": _described(
                "Call once for each combination of items: of all results, or of the arguments named by position.",
                {"anyOf": [{"enum": ["dot", "cross", None]}, {"$ref": "#/$defs/each"}]},
            ),
            "after": _described("Tasks to wait for that give no argument.", {"$ref": "#/$defs/names"}),
        },
        "not": {"required": ["in", "from"]},
    }


def _argument() -> dict[str, Any]:
    result = {
        "type": "object",
        "required": ["from"],
        "additionalProperties": False,
        "properties": {"from": _NAME, "item": {"type": ["integer", "null"], "minimum": 1}},
    }
    return {
        "description": 'A constant, "$input", {from: task} or {from: task, item: 3}; "$$" is a dollar.',
        "if": {"type": "object", "required": ["from"]},
        "then": result,
        "not": {"const": "$"},
    }


def _each() -> dict[str, Any]:
    over = {"type": "array", "items": {"anyOf": [{"type": ["integer", "string"]}, {"$ref": "#/$defs/each"}]}}
    return {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {"dot": over, "cross": over},
    }


def _alternative() -> dict[str, Any]:
    cause = {"enum": list(CAUSES)}
    return {
        "type": "object",
        "required": ["exits"],
        "additionalProperties": False,
        "properties": {
            "name": _NAME,
            "exits": _described(
                "Which task is replaced by which: {T2: T5}.", {"type": "object", "additionalProperties": _NAME}
            ),
            "on": _described("When it applies.", {"anyOf": [cause, {"type": "array", "items": cause}]}),
            "when": _described(
                "A HOCL condition on `result`; true means that the result is not good enough.",
                {"type": ["string", "null"], "minLength": 1},
            ),
            "predicate": _described(
                "The same as a Python function: `module:function`.", {"type": ["string", "null"], "minLength": 1}
            ),
            "also": _described("Further tasks that are given up.", {"$ref": "#/$defs/names"}),
            "watch": _described("The tasks whose outcome decides.", {"$ref": "#/$defs/names"}),
        },
    }


__all__ = ["schema_text", "workflow_schema"]
