; A workflow-shaped graph: a task with all its inputs is done and passes its value on.
(defrule start
  ?t <- (task ?a 0 ?v)
  =>
  (retract ?t)
  (assert (done ?a ?v)))

(defrule pass
  (done ?a ?v)
  ?e <- (edge ?a ?b)
  ?t <- (task ?b ?w ?u)
  =>
  (retract ?e ?t)
  (assert (task ?b (- ?w 1) (mod (+ ?u ?v) 1000003))))
