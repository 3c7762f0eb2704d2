% Runs one CHR program: loads it and its constraints, says "ready", waits for a line, posts the constraints,
% says how many seconds of CPU time (user and system) that took, then writes what is left in the store.
%
% swipl -O driver.pl -- PROGRAM CONSTRAINTS HEAD/ARITY...

:- use_module(library(chr)).
:- use_module(library(readutil)).

main :-
    current_prolog_flag(argv, [Program, Data | Heads]),
    load_files(Program, [silent(true)]),
    read_file_to_terms(Data, Constraints, []),
    garbage_collect,
    say(ready),
    read_line_to_string(user_input, _),
    statistics(process_cputime, Before),
    post(Constraints),
    statistics(process_cputime, After),
    Seconds is After - Before,
    say(Seconds),
    forall(member(Head, Heads), list_constraints(Head)),
    say(end).

post([]).
post([Constraint | Rest]) :- call(Constraint), post(Rest).

list_constraints(Head) :-
    term_to_atom(Name/Arity, Head),
    functor(Constraint, Name, Arity),
    forall(find_chr_constraint(Constraint), say(Constraint)).

say(Term) :- writeq(Term), nl, flush_output.
