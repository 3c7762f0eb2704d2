% The greatest of many integers: of any two the smaller one goes.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint num(+int).

max @ num(X) \ num(Y) <=> X >= Y | true.
