"""What a broadcast carries: what MessagePack can say, and what comes back as it was given.

Data is put into bytes at the call: whatever is wrong with it is told to who gave it, and what changes later changes
nothing. Tuples come back as lists.
"""

from __future__ import annotations

from typing import Any

import msgspec

from solvent.errors import Misuse
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE, is_nested_too_deeply

MAX_BYTES = 1024 * 1024
"""How large a broadcast may be: many of them must fit into one frame, when a node catches up."""
_MAX_DEPTH = 64
_PLAIN = (str, int, float, bytes)
_HINT = "it carries None, true and false, numbers, text, bytes, and lists and mappings of these"

_encode = encoder()
_decode = msgspec.msgpack.Decoder().decode


def packed(data: Any) -> bytes:
    """Give the bytes of what is to be broadcast."""
    _check(data, 0)
    try:
        body = _encode(data)
    except (msgspec.MsgspecError, ValueError, OverflowError) as error:
        raise Misuse("P341", f"this cannot be broadcast: {error}", hint=_HINT) from error
    if len(body) > MAX_BYTES:
        message = f"a broadcast of {len(body):,} bytes is too large; at most {MAX_BYTES:,} are allowed"
        raise Misuse("P342", message, hint="keep the data elsewhere and broadcast where it is")
    return body


def unpacked(body: Any) -> Any:
    """Give what was broadcast; raise `ValueError` for what no node of ours has sent."""
    if not isinstance(body, bytes):
        return body
    try:
        data = _decode(body)
    except UNREADABLE as error:
        raise ValueError(str(error)) from None
    if is_nested_too_deeply(data, _MAX_DEPTH):
        raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")
    return data


def _check(data: Any, depth: int) -> None:
    """See that data comes back as it is given: an encoder would quietly make lists of sets and text of dates."""
    if data is None or isinstance(data, _PLAIN):
        return
    if depth == _MAX_DEPTH:
        raise Misuse("P341", f"this cannot be broadcast: it is nested more than {_MAX_DEPTH} deep")
    if isinstance(data, (list, tuple)):
        for part in data:
            _check(part, depth + 1)
    elif isinstance(data, dict):
        for key, part in data.items():
            if key is not None and not isinstance(key, _PLAIN):
                message = f"this cannot be broadcast: a {type(key).__name__} is a key in it"
                raise Misuse("P341", message, hint="keys are text, numbers or bytes")
            _check(part, depth + 1)
    else:
        message = f"this cannot be broadcast: there is a {type(data).__name__} in it"
        raise Misuse("P341", message, hint=_HINT)


__all__ = ["MAX_BYTES", "packed", "unpacked"]
