; Shortest paths from one source: an edge shortens the way to its head.
(defrule relax
  (dist ?v ?d)
  (edge ?v ?w ?c)
  ?f <- (dist ?w ?e&:(< (+ ?d ?c) ?e))
  =>
  (retract ?f)
  (assert (dist ?w (+ ?d ?c))))
