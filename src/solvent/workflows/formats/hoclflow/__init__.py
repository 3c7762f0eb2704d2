"""HOCLflow: workflows as the text of the paper (INRIA research report 8691, section 2).

    <
      T1 : <SRC : <>, SRV : s1, IN : <"input">, DST : <T2, T3>>,
      T2 : <SRC : <FILTER : (T1 : 3), T1>, SRV : s2, IN : <>, DST : <T4>>,
      T3 : <SRC : <T1>, SRV : s3, IN : <>, DST : <T4>>,
      T4 : <SRC : <DOT, T2, T3>, SRV : s4, IN : <>, DST : <>>,
      T5 : <SRC : <T1>, SRV : s5, IN : <>, DST : <T4>>,
      (fallback = inject TRIGGER : T5, BOND : (T1 : T2 : T5), BOND : (T4 : T2 : T5)
        with T2 : <RES : (?result), ?w> if FAILED in result)
    >

A task is called with what IN holds, then with the results of SRC in order; a name in IN is an input of the workflow.
DST follows from SRC and may be left out; where both stand they must agree. The sources of an alternative's tasks need
not name them in DST, and its exits may name whom they will serve.

What the paper has no words for stands in further molecules, all optional:

    in a task      ARG : (T1, 3, x, FILTER : (T2 : 1))      all arguments in order; IN is empty then
                   WITH : <"key" : T1>                      keywords
                   EACH : DOT : (0, CROSS : (1, 2))         composition over some arguments, by position, or nested
                   AFTER : <T1>                             tasks to wait for that give no argument
                   JOIN : ANY, SPLIT : ONE, ...             how it joins, splits, repeats, waits, cancels: see `reader`
    at the top     WORKFLOW : "name"     RESULTS : <T4>     INPUT : x      INPUT : y : 3 (with its default)
                   LOCKS : <l : 2>       PATTERNS : <majority : "majority.hocl">
                   DEADLINE : 7200.0     RESOURCES : <grid : <SHAPE : ...>>
                   SERVICE : s1 : <PYTHON : "module:function", TIMEOUT : 5.0, OPTIONS : MAP : <"k" : 1>>
    in a rule      TRIGGER : (T2 : T5)                      T5 replaces T2, where BOND does not say it
                   ALSO : <T3>                              tasks given up with it
                   WHEN : "condition"    PREDICATE : "module:function"    NAME : "any name"

A rule's condition is FAILED, TIMEOUT or REJECTED `in` the result, or any condition on the result, or several with `||`.
`with t : <...> if (t in (T2, T3)) && ...` watches several tasks. Names that are no HOCL symbols are written as strings:
`"t1" : <SRC : <>, ...>`, in arguments `RESULT : "t1"` and `INPUT : "my input"`. What started a task is `ARRIVED`, all
of it `ARRIVED : ALL`, and what came with a signal `SIGNALLED`. Constants are HOCL's atoms, lists and
tuples; `NULL` is nothing, and `MAP : <"k" : 1>` a mapping.

Reading order: `values`, `bonds`, `reader`, `writer`.
"""

from solvent.workflows.formats.hoclflow.reader import is_hoclflow, read
from solvent.workflows.formats.hoclflow.writer import write

__all__ = ["is_hoclflow", "read", "write"]
