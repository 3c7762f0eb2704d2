% Dining philosophers. Forks are dense integers, so their constraints are kept in arrays.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint think(+dense_int, +dense_int, +int), eat(+int, +int, +int), fork(+dense_int).

release @ eat(I, J, K) <=> M is K - 1, fork(I), fork(J), think(I, J, M).
take @ think(I, J, K), fork(I), fork(J) <=> K > 0 | eat(I, J, K).
