"""The molecules and rules of chemical services, as the paper spells them."""

from __future__ import annotations

JOINS = {"sync_setFlag": "all", "discr_setFlag": "first", "sm_setFlag": "first", "syncMg_setFlag": "active"}
"""The rules that let a service start, and how it joins then."""
PREPARES = {
    "discr_setFlag": "discr_preparePass",
    "sm_setFlag": "sm_preparePass",
    "syncMg_setFlag": "syncMg_preparePass",
}
"""What the sources of a service with such a rule hold."""
GATHERS = {"sync_setFlag": "synchronize", "syncMg_setFlag": "syncMerge"}
"""What gathers the arrivals that such a rule looks at."""
PREPARING = ("preparePass", *PREPARES.values())
RESETS = ("mm_reset", "mm_lockReset", "lockReset_End", "mm_lockReset_End", "reset", "lockReset")
DOTS = ("dotProduct",)
CROSSES = (
    "crossProduct", "crossProduct_start", "crossProduct_list2End", "list2End", "crossProduct_end", "crossProductEnd",
)  # fmt: skip
RULES = (
    "invokeServ", "passInfo", "passInfoCond", "passInfoCancel", "addResult", *PREPARING, *JOINS, *GATHERS.values(),
    *RESETS, *DOTS, *CROSSES,
)  # fmt: skip
"""Every rule that a service may hold by its name."""

NAMES = ("SYNC_SRC", "SYNCMG_SRC")
IGNORED = ("SYNC_INBOX", "SYNCMG_INBOX", "RESET", "DOTPRODUCT", "CROSSPRODUCT")
"""Where the rules put what they gather; their content at the start says nothing."""
FLAGS = {"FLAG_INVOKE": (0, 1), "LOCKED": (0, 1), "COND_PASS": (0, 1), "DISCRIMINATOR": "Yes No", "MERGE": "Yes No"}
RUNNING = ("PASS", "RESULT", "COMPLETED", "SUCCESS_PASS", "ERROR", "CROSSLIST1", "CROSSLIST2")
"""What comes up only while a workflow runs."""
MOLECULES = ("DEST", "CALL", "PARAM", "CANCEL", "CANCEL_CHWS", "LIST1", "LIST2", *NAMES, *IGNORED, *FLAGS)

__all__ = [
    "CROSSES", "DOTS", "FLAGS", "GATHERS", "IGNORED", "JOINS", "MOLECULES", "NAMES", "PREPARES", "PREPARING", "RESETS",
    "RULES", "RUNNING",
]  # fmt: skip
