"""What a JetStream server says is wrong, and what that is to us.

The numbers are those of the server's own list of errors; its descriptions are for people and change.
"""

from __future__ import annotations

import msgspec

from solvent.errors import SpaceError

WRONG_LAST = frozenset({10071, 10164})
"""Codes that say: the last sequence is another one than expected."""
NO_MESSAGE = 10037
DUPLICATE_IN_BATCH = 10201
NOT_ENABLED = 10076
_NO_STREAM = 10059
_AGAIN = frozenset({10158, 10176, 10210, 10211})
"""Codes that say: come again (an id that is under way, a batch that was torn or is one too many)."""
_NO_ROOM = frozenset({10023, 10028, 10047, 10077, 10110, 10122})
_TOO_LARGE = frozenset({10054, 10097})


class ApiError(msgspec.Struct):
    """What a server says is wrong."""

    code: int = 0
    err_code: int = 0
    description: str = ""


def may_go_by(error: ApiError) -> bool:
    """Whether it may be otherwise in a moment: no leader, not yet ready, too much to do."""
    return (error.code == 503 and error.err_code not in _NO_ROOM) or error.err_code in _AGAIN


def problem(error: ApiError) -> SpaceError:
    """Give the error of what a server says is wrong."""
    if error.err_code in _NO_ROOM:
        hint = "make room on the server's disk, or raise its limits (`max_file_store`)"
        return SpaceError("E403", f"the server has no room: {error.description}", hint=hint)
    if error.err_code in _TOO_LARGE:
        return SpaceError("E405", f"the server says that it is too large: {error.description}")
    if error.err_code in (10039, NOT_ENABLED):
        hint = "add `jetstream {}` to its configuration, or start it by `solvent space serve`"
        return SpaceError("E401", "the server keeps nothing: JetStream is not enabled", hint=hint)
    if error.err_code == _NO_STREAM:
        # Whoever asks has opened the space, and so it was there.
        said = "the space is gone: the server does not have it any more, or was started with another folder"
        hint = "stop all that use it; start the server with the folder that it had, or begin with a new space"
        return SpaceError("E409", said, hint=hint, is_lasting=True)
    return SpaceError("E401", f"the server refuses: {error.description or 'no reason given'} ({error.err_code})")


__all__ = ["DUPLICATE_IN_BATCH", "NOT_ENABLED", "NO_MESSAGE", "WRONG_LAST", "ApiError", "may_go_by", "problem"]
