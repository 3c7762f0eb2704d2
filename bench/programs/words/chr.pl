% Word count: two counts of one word become one.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint count(+any, +int).

join @ count(W, M), count(W, N) <=> S is M + N, count(W, S).
