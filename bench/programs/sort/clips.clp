; Exchange sort: two cells in the wrong order swap their values.
(defrule swap
  ?f <- (cell ?i ?x)
  ?g <- (cell ?j&:(< ?i ?j) ?y&:(> ?x ?y))
  =>
  (retract ?f ?g)
  (assert (cell ?i ?y))
  (assert (cell ?j ?x)))
