% The primes of 2..n: a number goes when another one divides it.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint num(+int).

sieve @ num(X) \ num(Y) <=> Y mod X =:= 0 | true.
