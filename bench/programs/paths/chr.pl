% Shortest paths from one source. Nodes are dense integers, so their constraints are kept in arrays.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint dist(+dense_int, +int), edge(+dense_int, +dense_int, +int).

relax @ dist(V, D), edge(V, W, C) \ dist(W, E) <=> N is D + C, N < E | dist(W, N).
