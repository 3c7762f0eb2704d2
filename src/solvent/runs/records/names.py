"""A name is one run's, whoever has that: one process (`runs/NAME`) or agents (`runs/NAME/plan`).

These are two keys, and no store compares two at once. So who wants a name that somebody has chosen writes to the log
`names/NAME` first: who has looked before, and has not written yet, is refused. Agents win, since what is announced to
them may have begun.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from solvent.errors import Conflict

if TYPE_CHECKING:
    from solvent.store import Store

MEANING = "letters, digits and _ . = - only, at most 100"
_NAME = re.compile(r"[A-Za-z0-9_.=-]{1,100}")
_BY_AGENTS = b"agents"


def is_name(text: str) -> bool:
    """Whether a run can be called so: there is room in a store's names for what comes behind."""
    return _NAME.fullmatch(text) is not None


def claim_for_agents(store: Store, run: str) -> None:
    """Let a name be that of a run of agents; raise `Conflict` where one process has a run of this name."""
    log = _log_of(run)
    last = store.last(log)
    card = store.get(f"runs/{run}")
    if card is not None:
        raise Conflict(f"runs/{run}", expected=0, last=card.revision)
    store.append(log, _BY_AGENTS, expected=last)


def claim_for_process(store: Store, run: str) -> bool:
    """Let a name be that of a run of one process, which is in the store; false where agents have one of this name."""
    store.append(_log_of(run), b"")
    return not is_of_agents(store, run) and all(one.data != _BY_AGENTS for one in store.read(_log_of(run)))


def is_of_agents(store: Store, run: str) -> bool:
    """Whether a run was given to agents."""
    return store.get(f"runs/{run}/plan") is not None


def _log_of(run: str) -> str:
    return f"names/{run}"


__all__ = ["MEANING", "claim_for_agents", "claim_for_process", "is_name", "is_of_agents"]
