"""What is left of a run: the molecules of all nodes, none of them twice, also those that are between two nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.nodes import unpacked
from solvent.runs.nodes.control import Collected, Gift

if TYPE_CHECKING:
    from collections.abc import Mapping


def collected_from(node: int, capture: Any) -> Collected:
    """Return the molecules that a node's machine has, and what is on its way to others."""
    gifts = [
        Gift(node, number, to, tuple(unpacked(text).value for _, text in items))
        for number, (to, items) in capture.gifts.items()
    ]
    texts = tuple([unpacked(text).value for text in capture.molecules.values()])
    return Collected(texts, tuple(gifts), tuple(capture.got))


def texts_of(collected: Mapping[int, Collected]) -> list[str]:
    """Return every molecule once: those that nodes have, and those that are on their way."""
    return [text for one in collected.values() for text in (*one.texts, *_on_their_way(one, collected))]


def _on_their_way(one: Collected, collected: Mapping[int, Collected]) -> list[str]:
    """Return the molecules that a node has given and their receiver has not got."""
    return [
        text
        for gift in one.gifts
        if gift.to not in collected or (gift.giver, gift.number) not in collected[gift.to].got
        for text in gift.texts
    ]


__all__ = ["collected_from", "texts_of"]
