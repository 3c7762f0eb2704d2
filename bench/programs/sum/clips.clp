; The sum of many integers: any two become one.
(defrule sum
  ?f <- (num ?x)
  ?g <- (num ?y)
  (test (neq ?f ?g))
  =>
  (retract ?f ?g)
  (assert (num (+ ?x ?y))))
