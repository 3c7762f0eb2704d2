"""Machines with single functions replaced for a while: known faults, and readings of a paper that differ from ours.

    @variant(node, "lend")
    def keeps_it(lend: Any, now: Draft, to: NodeId, token: Token) -> None:
        '''A lender keeps the token.'''
        lend(now, to, token)
        now.state.token = token

    with keeps_it.applied():
        check(model)

A replacement takes the function it replaces first, then the arguments of the call. Functions of a protocol look each
other up when they are called (`module.function` across files), so it acts wherever the function is called. For the
whole process: two simulations with different variants cannot run at the same time.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

Replacement: TypeAlias = "Callable[..., Any]"


class Variant:
    """Replacements of functions, applied together; the first one's name and docstring are the variant's."""

    def __init__(self, module: ModuleType, function: str, replacement: Replacement) -> None:
        self.name = getattr(replacement, "__name__", function)
        self.title = (replacement.__doc__ or "").partition("\n")[0].rstrip(".")
        self._replacements: list[tuple[ModuleType, str, Replacement]] = []
        self._add(module, function, replacement)

    def also(self, module: ModuleType, function: str) -> Callable[[Replacement], Replacement]:
        """Replace another function too, by the decorated one."""

        def add(replacement: Replacement) -> Replacement:
            self._add(module, function, replacement)
            return replacement

        return add

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replace the functions until the block ends."""
        originals = []
        try:
            for module, function, replacement in self._replacements:
                original = getattr(module, function)
                originals.append((module, function, original))
                setattr(module, function, partial(replacement, original))
            yield
        finally:
            for module, function, original in reversed(originals):
                setattr(module, function, original)

    def _add(self, module: ModuleType, function: str, replacement: Replacement) -> None:
        if not callable(getattr(module, function)):
            raise TypeError(f"{module.__name__}.{function} is no function")
        self._replacements.append((module, function, replacement))


def variant(module: ModuleType, function: str) -> Callable[[Replacement], Variant]:
    """Make a variant of a protocol in which the decorated function replaces `module.function`."""
    return partial(Variant, module, function)


__all__ = ["Replacement", "Variant", "variant"]
