"""Having another host take a version as well: what was changed, or all of it; and what is left if that breaks off."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.errors import DataProblem, SolventError
from solvent.handover.data import Options, Where
from solvent.handover.data import transfer as transfer_module
from solvent.handover.data.card import ANOTHER, SOME
from solvent.handover.data.wire import Dialling, Follow, Line, Offer
from tests.live.data_hosts import Hosts, filled, hosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.data import Region, Store, Writing

SIZE = 3_000_000
MAX_SECONDS = 200.0


def _at(store: Store) -> Where:
    """Say where a store is, for those that offer it something."""
    host, address, token = store.place
    return Where(resource="m", version=0, size=0, host=host, segment="", birth=0, address=address, token=token)


def _offer(region: Region, writing: Writing, base: int = -1, *, is_part: bool = False) -> Offer:
    changes = writing.changes if base >= 0 and not is_part else None
    return Offer(
        resource="m",
        version=writing.version,
        offset=writing.start if is_part else 0,
        length=writing.end - writing.start if is_part else 0,
        size=region.size,
        form=region.sheet.form,
        copies=2,
        level=(base, ANOTHER) if is_part else (writing.version, 0),
        base=base,
        runs=None if changes is None else tuple(changes),
        max_seconds=MAX_SECONDS,
    )


def test_a_version_is_taken_whole_by_a_host_that_has_nothing(machines: Hosts) -> None:
    """It is there as if it had been fetched, with all that is said of it."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * SIZE, keep_last=True, form="some bytes", copies=2)
    with region.write(2) as writing:
        writing.view[:3] = b"new"
    one.give(_offer(region, writing, 1), _at(other))
    taken = other.region("m")
    assert taken is not None
    assert bytes(taken.read(2)) == b"new" + b"x" * (SIZE - 3)
    assert (taken.sheet.form, taken.sheet.copies, taken.sheet.keep_last) == ("some bytes", 2, True)
    assert taken.sheet.level == (2, 0)


def test_only_what_was_changed_goes_to_who_has_the_version_before(
    machines: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a copy costs grows with what was changed, and not with the size."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * SIZE, keep_last=True)
    other.get(one.where("m"))
    with region.write(2) as writing:
        writing.view[SIZE // 2] = 0
    sent, send = list[int](), Line.send

    def counting(line: Line, data: bytes | memoryview, *, is_more_to_come: bool = False) -> None:
        sent.append(len(data))
        send(line, data, is_more_to_come=is_more_to_come)

    monkeypatch.setattr(Line, "send", counting)
    one.give(_offer(region, writing, 1), _at(other))
    one.give(_offer(region, writing, 1), _at(other))
    assert sum(sent) < SIZE / 10
    assert other.region("m").read(2)[SIZE // 2] == 0  # type: ignore[union-attr]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_whatever_is_written_both_have_the_same(data: st.DataObject) -> None:
    """Versions of any size, changed anywhere, given to a host that has missed any of those before."""
    with hosts() as machines:
        one, other = machines.store("here"), machines.store("there")
        region = filled(one, "m", bytes(data.draw(st.integers(0, 9000))), keep_last=True)
        for version in range(2, 6):
            writing = region.write(version)
            if data.draw(st.integers(0, 3)) == 0:
                writing.resize(data.draw(st.integers(0, 9000)))
            for place_ in data.draw(st.lists(st.integers(0, max(0, writing.end - 1)), max_size=3)):
                if writing.end:
                    writing.view[place_] = version
            writing.commit()
            if data.draw(st.booleans()):
                one.give(_offer(region, writing, version - 1), _at(other))
                taken = other.region("m")
                assert taken is not None
                assert bytes(taken.read(version)) == bytes(region.read(version))


def test_a_part_is_taken_beside_what_is_there(machines: Hosts) -> None:
    """The rest of the taker's memory stays as it is, also while somebody writes there; and the part is counted."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * 100, keep_last=True)
    taken = other.get(one.where("m"))
    taken.reach((1, 0))
    with taken.write(9, offset=50, length=50) as own:
        own.view[:] = b"o" * 50
        writing = region.write(7, offset=10, length=5)
        writing.view[:] = b"parts"
        # Before it is a version here.
        offer = _offer(region, writing, 1, is_part=True)
        assert one.give(offer, _at(other), writing.view) == 1
        assert one.give(offer, _at(other), writing.view) == 1, "it is there already"
        writing.commit()
    assert bytes(taken.look()) == b"x" * 10 + b"parts" + b"x" * 35 + b"o" * 50
    assert [one.version for one in taken.sheet.extents] == [1, 7, 1, 9]
    assert taken.sheet.level == (1, 1)


def _part(region: Region, version: int, offset: int) -> Writing:
    with region.write(version, offset=offset, length=5) as writing:
        writing.view[:] = b"parts"
    return writing


def test_a_part_is_taken_only_where_everything_else_of_its_version_is(machines: Hosts) -> None:
    """A host that has something of it, or another version, has no use for a part."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * 100, keep_last=True)
    offer = _offer(region, _part(region, 7, 10), 1, is_part=True)
    assert _code(lambda: one.give(offer, _at(other))) == "D201"
    taken = other.get(one.where("m", offset=50, length=50), options=Options(offset=50, length=50, level=(1, SOME)))
    assert _code(lambda: one.give(offer, _at(other))) == "D201"
    taken.reach((2, 0))
    assert _code(lambda: one.give(offer, _at(other))) == "D201"


def _ask(size: int, *places: Store, is_near: bool = False) -> Follow:
    homes = tuple(one.place[1:] for one in places)
    return Follow("m", 1, size, "", 2, homes, is_near=is_near, max_seconds=MAX_SECONDS)


def test_a_host_catches_up_with_one_that_has_everything(machines: Hosts) -> None:
    """It fetches what it lacks: parts of the version that it has, all of one that it has not."""
    one, other, third = machines.store("here"), machines.store("there"), machines.store("away")
    region = filled(one, "m", b"x" * 100, keep_last=True)
    region.reach((1, 0))
    assert _code(lambda: third.follow(_ask(100, third, is_near=True), _at(other))) == "D201"
    for number in range(1, 4):
        writing = region.write(7 * number, offset=10 * number, length=5)
        writing.level = (1, ANOTHER)
        writing.view[:] = b"parts"
        writing.commit()
        assert third.follow(_ask(100, third, one, is_near=number > 1), _at(other)) == number
        taken = other.region("m")
        assert taken is not None
        assert (bytes(taken.look()), taken.sheet.level) == (bytes(region.look()), (1, number))
    assert [one.version for one in taken.sheet.extents] == [one.version for one in region.sheet.extents]
    assert _code(lambda: third.follow(_ask(100, third), _at(other))) == "D201"


def test_what_is_written_meanwhile_stays_when_a_host_catches_up(
    machines: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stretch that was changed there since it looked what is elsewhere is newer."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * 100, keep_last=True)
    taken = other.get(one.where("m"))
    with region.write(7, offset=10, length=5) as writing:
        writing.view[:] = b"parts"
    region.reach((1, 1))
    real = transfer_module.look_at

    def look_at(*all_: Any) -> Any:
        labels = real(*all_)
        with taken.write(8, offset=10, length=5) as own:
            own.view[:] = b"newer"
        return labels

    monkeypatch.setattr(transfer_module, "look_at", look_at)
    assert _code(lambda: other.follow(_ask(100, one))) == "D203"
    assert bytes(taken.read(8, offset=10, length=5)) == b"newer"


def test_no_part_is_taken_when_a_repair_has_looked(machines: Hosts) -> None:
    """What is changed in the epoch that ends would not be counted; in the next one it is taken."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * 100, keep_last=True)
    taken = other.get(one.where("m"))
    taken.reach((1, 0))
    offer = replace(_offer(region, _part(region, 7, 10), 1, is_part=True), epoch=4)
    taken.bar(5)
    assert _code(lambda: one.give(offer, _at(other))) == "D203"
    assert one.give(replace(offer, epoch=5), _at(other)) == 1
    assert taken.sheet.level == (1, 1)


def test_what_a_stretch_has_become_is_told(machines: Hosts) -> None:
    """By whoever has everything of the version; with the number of parts that were changed."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * 100, keep_last=True)
    here, dialling = replace(_at(one), version=1), Dialling(MAX_SECONDS)
    with pytest.raises(DataProblem, match="D201"):
        other.look([here], 0, 100, dialling)
    region.reach((1, 0))
    writing = region.write(7, offset=10, length=5)
    writing.level = (1, ANOTHER)
    writing.commit()
    labels = other.look([here], 12, 90, dialling)
    assert (labels.rows, labels.parts) == (((12, 15, 7), (15, 90, 1)), 1)
    with pytest.raises(DataProblem, match="D201"):
        other.look([replace(here, version=2)], 0, 100, dialling)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_taker_keeps_what_it_had_if_the_giver_dies_meanwhile(machines: Hosts, *, is_whole: bool) -> None:
    """Until it has all of the new version it has the one before."""
    one, other = machines.store("here"), machines.store("there")
    region = filled(one, "m", b"x" * SIZE, keep_last=True)
    taken = other.get(one.where("m"))
    with region.write(2) as writing:
        writing.view[:] = b"y" * SIZE
    offer = _offer(region, writing, -1 if is_whole else 1)
    line, _ = one._lines.take(_at(other), Dialling(MAX_SECONDS))
    assert isinstance(line.offer(offer), int)
    line.send(b"y" * (SIZE - 1))
    line.close()
    end = time.monotonic() + MAX_SECONDS
    while taken.is_busy():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert bytes(taken.read(1)) == b"x" * SIZE


def test_what_cannot_be_taken_is_said(machines: Hosts) -> None:
    """Somebody writes there; nobody is there; and what is offered makes no sense."""
    one, other, gone = machines.store("here"), machines.store("there"), machines.store("away")
    region = filled(one, "m", b"x" * 100, keep_last=True)
    taken, nowhere = other.get(one.where("m")), _at(gone)
    gone.close()
    with region.write(2) as writing:
        writing.view[0] = 0
    good = _offer(region, writing, 1)
    with taken.write(9):
        assert _code(lambda: one.give(good, _at(other))) == "D203"
    assert _code(lambda: one.give(good, nowhere)) == "D204"
    wrong = Offer(**{name: getattr(good, name) for name in good.__struct_fields__} | {"runs": ((90, 101),)})
    assert _code(lambda: one.give(wrong, _at(other))) == "D102"


def _code(act: Callable[[], object]) -> str:
    with pytest.raises(SolventError) as caught:
        act()
    return caught.value.code


def test_what_is_offered_in_an_epoch_that_is_over_is_not_taken(machines: Hosts) -> None:
    """Who offers it was taken for dead: the others have gone on, and its version is none of theirs."""
    one, other = machines.store("here"), machines.store("there", is_current=lambda epoch: epoch >= 7)
    region = filled(one, "m", b"x" * 100, keep_last=True)
    with region.write(2) as writing:
        writing.view[0] = 0
    offer = _offer(region, writing, 1)
    assert _code(lambda: one.give(replace(offer, epoch=6), _at(other))) == "D203"
    one.give(replace(offer, epoch=7), _at(other))
    taken = other.region("m")
    assert taken is not None
    with pytest.raises(DataProblem):
        # Who is in an earlier epoch on that host hears of it.
        taken.fence(6)
    taken.fence(8)
    with region.write(3) as writing:
        writing.view[0] = 1
    assert _code(lambda: one.give(replace(_offer(region, writing, 2), epoch=7), _at(other))) == "D203"
    assert taken.version == 2
