"""Chemical services: workflows in the notation of INRIA technical report 7610, sections 4 and 5.

    <
      ChWS1 : <CALL : S1, PARAM : <3>, DEST : ChWS2, DEST : ChWS3, passInfo, preparePass, invokeServ>,
      ChWS2 : <DEST : ChWS4, passInfo, preparePass, invokeServ>,
      ChWS3 : <DEST : ChWS4, passInfo, preparePass, invokeServ>,
      ChWS4 : <SYNC_SRC : <ChWS2, ChWS3>, SYNC_INBOX : <>, synchronize, sync_setFlag, invokeServ>
    >

The rules in a service's solution say what it does. They are read into the one model of a workflow, so the same rules
run both notations:

    preparePass, passInfo                       its result goes to every DEST
    synchronize, sync_setFlag, SYNC_SRC         joins all
    discr_setFlag                               joins the first;    discr_preparePass in each source
    sm_setFlag                                  joins any;          sm_preparePass in each source
    syncMerge, syncMg_setFlag                   joins all that are active; syncMg_preparePass in each source
    mm_reset, mm_lockReset, lockReset_End       joins any, once more for each arrival; RESET holds its first state
    passInfoCond                                its result goes where a rule with COND_PASS sends it
    passInfoCancel, CANCEL_CHWS : ChWS9         if it fails, ChWS9 takes over and the case ends, cancelled
    dotProduct, crossProduct                    called for each combination of the items of lists

`(replace-one value by COND_PASS : 1, DEST : ChWS5 if value > 3)` is a way onwards. Rules that take the same molecule
exclude each other; rules that take others, or give back what they took, may apply side by side. A rule such as
`replace RESULT : ChWS1 : value by CALL : S2, PARAM : <value>` says what a service is called with; without one, that is
PARAM, then what arrived. `LIMIT : 3 ^ inf` at the top is a global variable, which such rules and PARAM may name.
SERVICE, INPUT, RESULTS and WORKFLOW are those of HOCLflow. A service without CALL calls the one of its own number:
ChWS4 calls S4. A solution that names none of the rules has those that every service has: invokeServ, preparePass,
passInfo.

Reading order: words, parts, choices, calls, reading.
"""

from solvent.workflow.chws.reading import is_chws, read

__all__ = ["is_chws", "read"]
