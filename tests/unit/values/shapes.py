"""Classes whose instances tests write as data."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from pydantic import BaseModel, PrivateAttr

Content = TypeVar("Content")
Colour = namedtuple("Colour", "red green blue")  # noqa: PYI024 - one without types, as old code has


class Suit(enum.Enum):
    """A member's value may be anything."""

    SPADES = object()
    HEARTS = "hearts"


class Level(enum.IntEnum):
    """Members that are numbers."""

    LOW = 1
    HIGH = 2


class Rights(enum.Flag):
    """Members that are added."""

    READ = 1
    WRITE = 2


class Point(NamedTuple):
    """A tuple with names and types."""

    x: float
    y: float = 0.0


@dataclass
class Reading:
    """A dataclass with another inside."""

    name: str
    values: list[Any] = field(default_factory=list)
    at: Any = None
    total: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.total += 1


@dataclass(frozen=True, slots=True)
class Box(Generic[Content]):
    """A dataclass that cannot be changed."""

    content: Content


class Sample(Reading):
    """A subclass with an attribute that is no field."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.note = "kept"


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """A struct whose fields have other names when they are encoded."""

    first_name: str
    age: int = 0


class Order(BaseModel):
    """A model with a private attribute, and others that it was not asked for."""

    model_config = {"extra": "allow"}
    items: list[Any] = []
    price: float = 1.0
    _seen: int = PrivateAttr(default=0)


class Outer:
    """A class with one inside."""

    @dataclass
    class Inner:
        """Found by its qualified name."""

        a: int
