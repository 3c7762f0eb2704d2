; The primes of 2..n: a number goes when another one divides it.
(defrule sieve
  (num ?x)
  ?g <- (num ?y&~?x&:(= 0 (mod ?y ?x)))
  =>
  (retract ?g))
