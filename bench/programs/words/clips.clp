; Word count: two counts of one word become one.
(defrule join
  ?f <- (count ?w ?m)
  ?g <- (count ?w ?n)
  (test (neq ?f ?g))
  =>
  (retract ?f ?g)
  (assert (count ?w (+ ?m ?n))))
