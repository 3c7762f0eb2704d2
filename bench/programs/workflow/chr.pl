% A workflow-shaped graph. Tasks are dense integers, so their constraints are kept in arrays.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint task(+dense_int, +int, +int), edge(+dense_int, +dense_int), done(+dense_int, +int).

start @ task(T, 0, V) <=> done(T, V).
pass @ done(A, V) \ edge(A, B), task(B, W, U) <=>
    M is W - 1, S is (U + V) mod 1000003, task(B, M, S).
