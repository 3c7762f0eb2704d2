"""The JSON schema of workflow files, which editors use to complete and to check them.

It is published as `docs/reference/workflow.schema.json`; a test sees to it that both are the same. A file names it in
its first line, which many editors understand:

    # yaml-language-server: $schema=https://.../workflow.schema.json
"""

from __future__ import annotations

import json
from typing import Any

from solvent.workflows.formats.yaml.reader import (
    BESIDE_JOIN,
    CAUSES,
    CLAIM_KEYS,
    COUNTS,
    JOINS,
    KINDS,
    MODES,
    SIGNAL_KEYS,
    SPLITS,
)
from solvent.workflows.value_checks import ABOVE_ZERO

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_NAME: dict[str, Any] = {"anyOf": [_TEXT, {"type": "integer"}]}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}
_FLAG: dict[str, Any] = {"type": ["boolean", "null"]}
_NOTHING: dict[str, Any] = {"type": "null"}
_NAMES: dict[str, Any] = {"$ref": "#/$defs/names"}
_TEST: dict[str, Any] = {"$ref": "#/$defs/test"}
_LIMITS = {
    "timeout": "Seconds after which an attempt is given up.",
    "retries": "Further attempts after the first.",
    "backoff": "Seconds before the first retry; doubled before each further one.",
    "max_backoff": "The longest wait before a retry, in seconds.",
    "concurrency": "Calls of the service that may run at the same time.",
    "rate": "Calls of the service that may begin in one second.",
    "heartbeat": "Seconds within which a running call must give a sign of life.",
    "max_lost": "How often a call may be lost with the agent that makes it, and be made again by another.",
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
    """Return the schema."""
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
            "results": _described("The tasks whose results are the workflow's.", _NAMES),
            "resources": _mapping_of("resource", "Data that tasks change in place, one after the other."),
            "locks": _described(
                "How many tasks may hold a lock at the same time; one if it is not named here.",
                {"type": ["object", "null"], "additionalProperties": _COUNT},
            ),
            "patterns": _described(
                "Rule libraries by the names under which tasks join by them: {majority: majority.hocl}.",
                {
                    "type": ["object", "null"],
                    "propertyNames": {"not": {"enum": [*JOINS, *BESIDE_JOIN]}},
                    "additionalProperties": _NAME,
                },
            ),
        },
        "$defs": {
            "names": {"anyOf": [_TEXT, {"type": "array", "items": _NAME}, {"type": "null"}]},
            "service": _service(),
            "task": _task(),
            "resource": _resource(),
            "argument": _argument(),
            "each": _each(),
            "alternative": _alternative(),
            "test": _test(),
            "routes": _routes(),
            "instances": _instances(),
        },
    }


def schema_text() -> str:
    """Return the schema as the published file holds it."""
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
            "from": _described("Short for arguments that are all results of tasks.", _NAMES),
            "with": _described(
                "Arguments by name.",
                {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/argument"}},
            ),
            "each": _described(
                "Call once for each combination of items: of all results, or of the arguments named by position.",
                {"anyOf": [{"enum": ["dot", "cross", None]}, {"$ref": "#/$defs/each"}]},
            ),
            "after": _described("Tasks to wait for that give no argument.", _NAMES),
            **_before(),
            **_afterwards(),
        },
        "not": {"required": ["in", "from"]},
    }


def _resource() -> dict[str, Any]:
    given = {"type": "string", "pattern": r"^\$."}
    number = {"anyOf": [_COUNT, given]}
    path = {"anyOf": [_TEXT, _NOTHING]}
    shape = {"anyOf": [number, {"type": "array", "items": number, "minItems": 1}, _NOTHING]}
    return {
        "description": "An array, so many bytes, or a file. Numbers and paths may be inputs: $n.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "shape": _described("The lengths of an array.", shape),
            "dtype": _described("The type of its items, as NumPy calls it; float64 if not given.", path),
            "size": _described("How many bytes it has, if it is no array.", {"anyOf": [number, _NOTHING]}),
            "file": _described("The file whose bytes it is, changed in place.", path),
            "save": _described("Where it is written when the run has ended: .npy, or the bytes.", path),
            "undo": _described("false: what a call that fails had changed stays changed.", _FLAG),
        },
        "anyOf": [{"required": [key]} for key in ("shape", "size", "file")],
        "not": {"required": ["shape", "size"]},
    }


def _before() -> dict[str, Any]:
    """Return the words about what a task waits for."""
    signal = {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": dict.fromkeys(SIGNAL_KEYS, _NAME),
    }
    return {
        "join": _described(
            "What starts it: all its sources, any, the first so many, all that are active, or a library of `patterns`.",
            {"anyOf": [{"enum": [*JOINS, None]}, _NAME, _join()]},
        ),
        "lock": _described("Locks that it takes when it starts and gives back when it is done.", _NAMES),
        "takes": _described("Locks that it takes when it starts.", _NAMES),
        "gives": _described("Locks that it gives back when it is done.", _NAMES),
        "signal": _described(
            "A signal that it waits for; {transient: go} is lost if it comes while the task does not wait.",
            {"anyOf": [_NAME, signal, _NOTHING]},
        ),
        "during": _described(
            "Two tasks: it can start only while the first is done and the second has not started.",
            {"type": ["array", "null"], "items": _NAME, "minItems": 2, "maxItems": 2},
        ),
        "instances": _described(
            "Several instances of it.", {"anyOf": [_COUNT, {"$ref": "#/$defs/instances"}, _NOTHING]}
        ),
    }


def _join() -> dict[str, Any]:
    """Describe a join by a mapping: one way at most, be it of ours or a library, and what may stand beside it."""
    no_number = {"enum": [True, None]}
    number = {"anyOf": [_COUNT, no_number]}
    return {
        "type": "object",
        "properties": {
            **{word: number if word == "first" else no_number for word in JOINS},
            "cancel": _described("What is still at work on the other branches is cancelled.", _FLAG),
            "threads": _described("How many arrivals of each source start it once.", {"anyOf": [_COUNT, _NOTHING]}),
        },
        "additionalProperties": number,
        "anyOf": [
            {"maxProperties": 1},
            *({"required": [word], "maxProperties": 2} for word in BESIDE_JOIN),
            {"required": list(BESIDE_JOIN), "maxProperties": 3},
        ],
        "if": {"required": ["cancel"], "properties": {"cancel": {"const": True}}},
        "then": {"required": ["first"]},
    }


def _afterwards() -> dict[str, Any]:
    """Return the words about what happens when a task is done."""
    again = {
        "type": ["object", "null"],
        "required": ["to"],
        "additionalProperties": False,
        "properties": {"to": _NAME, **_conditions()},
    }
    return {
        "split": _described(
            "Whom its result is passed to: all, the one route that holds first, some (all that hold), or deferred: "
            "offered to all, and gone with the first that starts.",
            {"enum": [*SPLITS, None]},
        ),
        "to": _described("The ways onwards, in order, perhaps with conditions.", {"$ref": "#/$defs/routes"}),
        "again": _described("Where to go back to, and while what holds of the result.", again),
        "threads": _described("How often it passes its result to each destination.", {"anyOf": [_COUNT, _NOTHING]}),
        "sends": _described("Signals that it sends when it is done.", _NAMES),
        "cancels": _described("Tasks that are withdrawn when it is done.", _NAMES),
        "completes": _described("Tasks of several instances that go on with the results they have.", _NAMES),
        "ends": _described("The case is over when it is done.", {"enum": [True, False, "cancelled", None]}),
    }


def _conditions() -> dict[str, Any]:
    return {
        "when": _described("HOCL about `result`.", {"anyOf": [_NAME, _NOTHING]}),
        "predicate": _described("A Python function of the result: `module:function`.", {"anyOf": [_NAME, _NOTHING]}),
    }


def _test() -> dict[str, Any]:
    mapping = {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": _conditions()}
    return _described("A condition: HOCL about `result`, or a Python function of it.", {"anyOf": [_NAME, mapping]})


def _routes() -> dict[str, Any]:
    tested = {
        "description": "Tasks with conditions; null: where no other way is taken.",
        "type": "object",
        "additionalProperties": {"anyOf": [_TEST, _NOTHING]},
    }
    return {"anyOf": [_TEXT, {"type": "array", "items": {"anyOf": [_NAME, tested]}}, tested, _NOTHING]}


def _instances() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "count": _described("How many, an argument.", {"$ref": "#/$defs/argument"}),
            "over": _described(
                "The position, from 0, or the keyword of an argument that is a list: one instance for each item.",
                {"type": ["integer", "string", "null"]},
            ),
            "need": _described("How many results are waited for; all, if not given.", {"anyOf": [_COUNT, _NOTHING]}),
            "cancel": _described("The instances that still run are cancelled when enough results are there.", _FLAG),
            "apart": _described("Each instance passes on its result by itself.", _FLAG),
            "more": _described(
                "A result for which this holds asks for one more instance.", {"anyOf": [_TEST, _NOTHING]}
            ),
            "enough": _described("The list of results for which this holds is enough.", {"anyOf": [_TEST, _NOTHING]}),
        },
        "oneOf": [{"required": ["count"]}, {"required": ["over"]}],
    }


def _argument() -> dict[str, Any]:
    result = {
        "type": "object",
        "required": ["from"],
        "additionalProperties": False,
        "properties": {"from": _NAME, "item": {"type": ["integer", "null"], "minimum": 1}},
    }
    claim = {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(
            zip(
                CLAIM_KEYS,
                (
                    _NAME,
                    {"enum": [*MODES, None]},
                    {"type": ["integer", "null"], "minimum": 0},
                    {"anyOf": [_COUNT, _NOTHING]},
                ),
                strict=True,
            )
        ),
    }
    return {
        "description": (
            'A constant, "$input", {from: task}, {from: task, item: 3}, {arrived: one}, {arrived: all}, '
            '{signal: value}, {resource: name} or {resource: name, mode: read, offset: 0, length: 9}; "$$" is a dollar.'
        ),
        "if": {"type": "object", "required": ["from"]},
        "then": result,
        "else": {"if": {"type": "object", "required": ["resource"]}, "then": claim},
        "not": {"anyOf": [{"const": "$"}, _other_than("arrived", ["one", "all"]), _other_than("signal", ["value"])]},
    }


def _other_than(key: str, words: list[str]) -> dict[str, Any]:
    """Describe a mapping of this key alone to what is none of these words."""
    return {
        "type": "object",
        "required": [key],
        "maxProperties": 1,
        "properties": {key: {"not": {"enum": words}}},
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
            "also": _described("Further tasks that are given up.", _NAMES),
            "watch": _described("The tasks whose outcome decides.", _NAMES),
        },
    }
