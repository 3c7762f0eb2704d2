% Exchange sort: two cells in the wrong order swap their values.
:- use_module(library(chr)).
:- chr_option(debug, off).
:- chr_option(optimize, full).

:- chr_constraint cell(+int, +int).

swap @ cell(I, X), cell(J, Y) <=> I < J, X > Y | cell(I, Y), cell(J, X).
