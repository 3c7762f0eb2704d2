"""`solvent lab check PROTOCOL`: every order of events of a protocol's small worlds.

Without options all its models are checked, but for the large ones, which take long and have to be named. `--broken
NAME` turns things round: the checker is given a model with a known fault, and it would be wrong not to find it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, at_least, parser_for
from solvent.cli.progress import Watch
from solvent.cli.render import complain, counted, write, write_json
from solvent.errors import Misuse, nearest
from solvent_lab.checker.explore import MAX_STATES, Result, Verdict, Violation, check
from solvent_lab.checker.registry import Models, models_of, protocols

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Mapping, Sequence

    from solvent_lab.checker.model import Model

_WIDTH = 100
_ALL = "all"
_HEADS = ("model", "states", "moves", "depth", "seconds", "verdict")
_STYLES = {"holds": "green", "caught": "green", "limit reached": "yellow", "violated": "bold red", "missed": "bold red"}


def main(arguments: list[str]) -> int:
    """Check a protocol; 1 if something does not hold or a broken model passes, 3 if not all states were seen."""
    options = parser().parse_args(arguments)
    if options.protocol not in protocols():
        hint = nearest(options.protocol, protocols()) or f"there is: {', '.join(protocols())}"
        raise Misuse("P311", f"there is no protocol `{options.protocol}` to check", hint=hint)
    models = models_of(options.protocol)
    if options.list:
        return _list(options, models)
    sound = options.model or ([] if options.broken else list(models.sound))
    results = _checked(_chosen(sound, models.sound, models.large, "model", options), options)
    broken = _checked(_chosen(options.broken, models.broken, {}, "broken model", options), options)
    if options.format == "json":
        write_json(_as_json(options.protocol, results, broken))
    else:
        _write(results, broken)
    return _exit_code(results, broken, options)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for(
        "lab check",
        "Try every order of events of a protocol's small worlds.\n"
        "A violation is shown as a sequence diagram, the shortest there is.",
        example="solvent lab check capture --list",
    )
    parser.add_argument("protocol", metavar="PROTOCOL", help=f"one of: {', '.join(protocols())}")
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="only this model (repeatable)")
    says = "a model with a known fault, which must be found; `all` for every one (repeatable)"
    parser.add_argument("--broken", action="append", default=[], metavar="NAME", help=says)
    parser.add_argument("--list", action="store_true", help="name the models and do nothing else")
    parser.add_argument(
        "--max-states",
        type=at_least(1),
        default=MAX_STATES,
        metavar="N",
        help=f"stop each model after so many states (default: {MAX_STATES:,})",
    )
    add_format(parser)
    return parser


def _chosen(
    names: Sequence[str],
    usual: Mapping[str, Callable[[], Model]],
    large: Mapping[str, Callable[[], Model]],
    kind: str,
    options: Namespace,
) -> Mapping[str, Callable[[], Model]]:
    chosen: dict[str, Callable[[], Model]] = {}
    known = {**usual, **large}
    for name in names:
        if name == _ALL:
            chosen |= usual
        elif name in known:
            chosen[name] = known[name]
        else:
            hint = nearest(name, known) or f"`solvent lab check {options.protocol} --list` names them"
            raise Misuse("P312", f"`{options.protocol}` has no {kind} `{name}`", hint=hint)
    return chosen


def _checked(models: Mapping[str, Callable[[], Model]], options: Namespace) -> dict[str, Result]:
    results: dict[str, Result] = {}
    states = 0

    def should_stop(so_far: int) -> bool:
        nonlocal states
        states = so_far
        return watch.should_stop()

    for name, build in models.items():
        with Watch(lambda: states, noun=f"states of {name}") as watch:
            results[name] = check(build(), max_states=options.max_states, should_stop=should_stop)
        if watch.is_interrupted:
            raise KeyboardInterrupt
    return results


def _exit_code(results: Mapping[str, Result], broken: Mapping[str, Result], options: Namespace) -> int:
    everything = [*results.values(), *broken.values()]
    is_missed = any(one.verdict is Verdict.HOLDS for one in broken.values())
    if is_missed or any(one.violations for one in results.values()):
        return 1
    unfinished = [one for one in everything if one.verdict is Verdict.LIMIT_REACHED]
    if unfinished:
        complain(f"stopped after {counted(options.max_states, 'state')}", hint="raise --max-states")
        return 3
    return 0


# ------------------------------------------------------------------------------------------------------- words


def _verdict(result: Result, *, is_broken: bool) -> str:
    if not is_broken or result.verdict is Verdict.LIMIT_REACHED:
        return str(result.verdict)
    return "caught" if result.violations else "missed"


def _list(options: Namespace, models: Models) -> int:
    kinds = {"models": models.sound, "large": models.large, "broken": models.broken}
    titles = {kind: {name: build().title for name, build in group.items()} for kind, group in kinds.items()}
    if options.format == "json":
        write_json({"protocol": options.protocol, **titles})
        return 0
    width = max((len(name) for group in titles.values() for name in group), default=0)
    for kind, group in titles.items():
        if group:
            write((kind, "bold"), " (checked only when named by --model)" if kind == "large" else "")
        for name, title in group.items():
            write(f"  {name:<{width}}  {title}".rstrip())
    return 0


def _write(results: Mapping[str, Result], broken: Mapping[str, Result]) -> None:
    rows = [
        _row(name, one, is_broken=is_broken)
        for group, is_broken in ((results, False), (broken, True))
        for name, one in group.items()
    ]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    for name, *numbers, said in (_HEADS, *rows):
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
        write("  ".join((name.ljust(widths[0]), *cells, "")), (said, _STYLES.get(said.partition(":")[0], "bold")))
    for group in (results, broken):
        for name, one in group.items():
            for violation in one.violations:
                _write_violation(name, violation)


def _row(name: str, result: Result, *, is_broken: bool) -> tuple[str, ...]:
    said = _verdict(result, is_broken=is_broken)
    if result.violations:
        said += f": {result.violations[0].property}"
    counts = (f"{one:,}" for one in (result.states, result.transitions, result.depth))
    return (name, *counts, f"{result.seconds:.2f}", said)


def _write_violation(model: str, violation: Violation) -> None:
    write()
    write((f"{model}", "bold"))
    for line in violation.trace.drawn(width=_WIDTH).split("\n"):
        write(line)
    write((f"violated: {violation.property}", "bold red"))
    if violation.message:
        write(f"  {violation.message}")


def _as_json(protocol: str, results: Mapping[str, Result], broken: Mapping[str, Result]) -> dict[str, Any]:
    everything = [*results.values(), *broken.values()]
    found: dict[str, Any] = {
        "protocol": protocol,
        "states": sum(one.states for one in everything),
        "violations": [
            {"model": name} | _violation_as_json(violation)
            for name, one in results.items()
            for violation in one.violations
        ],
        "seconds": round(sum(one.seconds for one in everything), 3),
        "models": {name: _result_as_json(one, is_broken=False) for name, one in results.items()},
    }
    if broken:
        found["broken"] = {name: _result_as_json(one, is_broken=True) for name, one in broken.items()}
    return found


def _result_as_json(result: Result, *, is_broken: bool) -> dict[str, Any]:
    return {
        "verdict": _verdict(result, is_broken=is_broken),
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "seconds": round(result.seconds, 3),
        "violations": list(map(_violation_as_json, result.violations)),
    }


def _violation_as_json(violation: Violation) -> dict[str, Any]:
    return {
        "property": violation.property,
        "message": violation.message,
        "moves": len(violation.trace),
        "diagram": violation.trace.drawn(width=_WIDTH).split("\n"),
    }
