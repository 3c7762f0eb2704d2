; Dining philosophers: both forks are taken by one rule firing.
(defrule take
  ?t <- (think ?i ?j ?k&:(> ?k 0))
  ?f <- (fork ?i)
  ?g <- (fork ?j)
  =>
  (retract ?t ?f ?g)
  (assert (eat ?i ?j ?k)))

(defrule release
  ?e <- (eat ?i ?j ?k)
  =>
  (retract ?e)
  (assert (fork ?i))
  (assert (fork ?j))
  (assert (think ?i ?j (- ?k 1))))
