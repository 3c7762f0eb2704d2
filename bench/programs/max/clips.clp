; The greatest of many integers: of any two the smaller one goes.
(defrule max
  ?f <- (num ?x)
  ?g <- (num ?y&:(>= ?x ?y))
  (test (neq ?f ?g))
  =>
  (retract ?g))
