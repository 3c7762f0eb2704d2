"""Protocols are found by name, each with sound and broken models."""

from __future__ import annotations

import pytest

from solvent_lab.checker import Model
from solvent_lab.checker.registry import models_of, protocols


@pytest.mark.parametrize("protocol", protocols())
def test_every_model_can_be_built(protocol: str) -> None:
    """Each protocol has models of both kinds, and each sound one, large or not, says what it is about."""
    models = models_of(protocol)
    assert models.sound
    assert models.broken
    sound = {**models.sound, **models.large}
    assert len(sound) == len(models.sound) + len(models.large)
    assert [name for name, build in sound.items() if not build().title] == []
    assert all(isinstance(build(), Model) for build in models.broken.values())
