"""Which rules of the library a word of control flow needs: `rules/patterns.hocl` and `rules/instances.hocl`."""

BASE = ("preparePass", "passInfo", "passOver")
SYNC = ("synchronize", "sync_setFlag")
SYNC_SKIP = ("sync_skip", "sync_dead")
MERGE_SKIP = ("mm_setFlag", "mm_back", "mm_skip", "mm_skip_back", "mm_reset", "mm_dead")
FIRST = ("discriminate", "discr_setFlag", "discr_ignore", "discr_reset")
FIRST_CANCEL = (
    "discriminate", "discr_cancel", "discr_cancel_next", "discr_heard", "discr_cancel_last", "discr_cancelled",
    "passInfoCancel",
)  # fmt: skip
FIRST_OPEN = ("discr_cancelled_open", "discr_ignore", "discr_open_reset")
FIRST_SKIP = ("discr_skip", "discr_dead")
FIRST_NONE = ("discr_skip", "discr_none")
ROUND = ("preparePassHead", "preparePassNext", "prepareSkipHead", "prepareSkipNext", "passSkipRound",
         "passSkippedRound", "round_relay", "round_first", "discr_setFlag", "round_ignore", "round_skip",
         "round_reset")  # fmt: skip
ROUND_HEAD = ("round_merge_dead", "round_sync_dead")
ACTIVE = ("syncMerge", "syncMg_skip", "syncMg_setFlag", "syncMg_dead")
SHUT = ("shutGate", "stopServ")
SHUT_DATED = ("shutGateDated", "stopServDated")
ASK = ("nextCancel", "passInfoCancel")
ASK_DATED = ("nextCancelDated", "passInfoCancelDated")
CHOICE = ("passInfoCond", "passNowhere", "prepareSkip")
VOID = ("withdraw", "withdrawn", "withdrawOver", "withdrawFlag", "withdrawPass", "withdrawSkip", "passSkip",
        "passSkipDated", "passSkipped")  # fmt: skip
MANY = ("mi_next", "mi_last", "mi_withdraw_part", "mi_withdraw_spread")
COLLECT = ("mi_result", "mi_all", "mi_void", "mi_void_got", "mi_withdraw")
