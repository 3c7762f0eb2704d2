% The sum of many integers: any two become one.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint num(+int).

sum @ num(X), num(Y) <=> Z is X + Y, num(Z).
