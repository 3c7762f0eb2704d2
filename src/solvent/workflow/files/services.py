"""Services in workflow files: their kind is a key, and how they are called stands beside it.

s1: {python: "module:function", timeout: 5, retries: 2}
s2: {shell: "sort {0}", concurrency: 4}
s3: {http: "http://localhost:8000/f", method: PUT}
s4: {hocl: other.hocl}
s5: {workflow: other.yaml}          or the workflow itself, in place
s6: {replay: 0.25}                  waits so many seconds
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.workflow.model import Policy, Service

if TYPE_CHECKING:
    from solvent.workflow.files.reading import Reader
    from solvent.workflow.places import Path

KINDS = ("python", "shell", "http", "hocl", "workflow", "replay")
POLICY_KEYS = tuple(Policy.__struct_fields__)
SERVICE_KEYS = (*KINDS, "method", "options", *POLICY_KEYS)
COUNTS = ("retries", "concurrency", "losses")
"""The limits that are whole numbers; the others are seconds or calls per second."""
ABOVE_ZERO = ("timeout", "concurrency", "rate", "heartbeat")


def read_service(reader: Reader, name: str, data: Any, path: Path) -> Service:
    """Read one service."""
    found = reader.mapping(data, path, f"the service `{name}`", SERVICE_KEYS)
    kinds = [key for key in found if key in KINDS]
    if len(kinds) != 1:
        hint = f"one of: {', '.join(KINDS)}"
        wrong = f"is both `{kinds[0]}` and `{kinds[1]}`" if kinds else "does not say what it calls"
        reader.fail("W104", f"the service `{name}` {wrong}", (*path, kinds[1]) if kinds else path, hint=hint)
    kind: Any = kinds[0]
    target, function, options = (
        found[kind],
        None,
        dict(reader.mapping(found.get("options") or {}, (*path, "options"), "`options`")),
    )
    if kind == "replay" and type(target) in (int, float):
        options, target = {**options, "seconds": target}, ""
    elif kind == "workflow" and isinstance(target, dict):
        function, target = reader.workflow(target, (*path, kind), name=name), ""
    return Service(
        name,
        kind,
        reader.text_or_nothing(target or None, (*path, kind), f"what `{kind}` calls") or "",
        method=reader.text(found.get("method", "POST"), (*path, "method"), "`method`"),
        options=options,
        policy=_policy(reader, found, path),
        function=function,
    )


def _policy(reader: Reader, found: dict[str, Any], path: Path) -> Policy:
    """Read the limits that stand beside a service's kind."""
    limits: dict[str, Any] = {}
    for key in POLICY_KEYS:
        if found.get(key) is None:
            continue
        value = reader.number(found[key], (*path, key), f"`{key}`")
        if key in COUNTS and type(value) is not int:
            reader.fail("W104", f"`{key}` is a whole number", (*path, key))
        if not value >= 0 or (key in ABOVE_ZERO and value == 0):
            reader.fail("W105", f"`{key}` cannot be {value}", (*path, key), hint="leave it out for no limit")
        limits[key] = value if key in COUNTS else float(value)
    return Policy(**limits)


__all__ = ["COUNTS", "KINDS", "POLICY_KEYS", "SERVICE_KEYS", "read_service"]
