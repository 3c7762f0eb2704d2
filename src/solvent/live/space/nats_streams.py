"""The three streams of a space on NATS: records, keys and blobs; made when they are not there.

    NAME-records       subjects NAME.log.<log>             one per log; the position is the stream's sequence
    KV_NAME-keys       subjects $KV.NAME-keys.<key>        a key-value bucket: the last message of each key
    OBJ_NAME-blobs     subjects $O.NAME-blobs.{C,M}.<id>   an object store: chunks, and what they make up

They are laid out as NATS' own tools expect it. In subjects `/` and `.` change places, since NATS' levels are told apart
by dots. What was stored is told again on NAME.saw.>, which watches listen to: the subjects themselves would tell of
messages before they are stored, and of those that are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from solvent.errors import NoSpace, SpaceError
from solvent.live.space.nats_problems import ApiError, problem
from solvent.live.space.nats_stream import Pause, Stream

if TYPE_CHECKING:
    from solvent.live.space.nats_address import Address
    from solvent.live.space.nats_link import Link

FORMAT = "1"
REMEMBERED_S = 600
"""How long a server knows the ids of messages; an append is not sent again after so long."""

_FORMAT_KEY = "solvent.format"
_DURABLE_KEY = "solvent.durable"
_SWAP = str.maketrans("/.", "./")
_NOT_CLUSTERED = 10074
_NO_PEERS = frozenset({10005, 10012})
_TAKEN = frozenset({10058, 10065})
_SECOND = 1_000_000_000


class _Config(msgspec.Struct):
    num_replicas: int = 1
    allow_atomic: bool = False
    metadata: dict[str, str] = {}


class _Info(msgspec.Struct):
    config: _Config | None = None
    error: ApiError | None = None


class Streams(NamedTuple):
    """The streams of a space."""

    records: Stream
    keys: Stream
    blobs: Stream
    replicas: int
    is_atomic: bool
    is_durable: bool


class Subjects:
    """Which subject a name has, and which name a subject."""

    def __init__(self, space: str) -> None:
        self.log = f"{space}.log."
        self.key = f"$KV.{space}-keys."
        self.saw = f"{space}.saw."
        self.chunks = f"$O.{space}-blobs.C."
        self.meta = f"$O.{space}-blobs.M."

    def of_logs(self, scope: str) -> str:
        """Give the subject of a log, or of all below a name that ends in `/`."""
        return self.log + _of(scope)

    def of_keys(self, scope: str) -> str:
        """Give the subject of a key, or of all below."""
        return self.key + _of(scope)

    def saying(self, scope: str) -> tuple[str, str]:
        """Give the subjects that tell what was stored in a scope's logs and keys."""
        return f"{self.saw}log.{_of(scope)}", f"{self.saw}key.{_of(scope)}"

    def log_of(self, subject: str) -> str:
        """Give the name of a log."""
        return subject[len(self.log) :].translate(_SWAP)

    def key_of(self, subject: str) -> str:
        """Give the name of a key."""
        return subject[len(self.key) :].translate(_SWAP)


def _of(scope: str) -> str:
    subject = scope.translate(_SWAP)
    return f"{subject}>" if not scope or scope[-1] == "/" else subject


async def open_streams(
    link: Link, address: Address, subjects: Subjects, *, is_durable: bool | None, is_made: bool = True
) -> Streams:
    """Make the streams, or find them; raise `SpaceError` for those that are not ours, not as wanted, or not there."""
    space = address.name
    wanted = address.replicas or 1
    metadata = {_FORMAT_KEY: FORMAT, _DURABLE_KEY: "yes" if is_durable else "no"}
    common: dict[str, Any] = {
        "storage": "file",
        "num_replicas": wanted,
        "allow_direct": True,
        "duplicate_window": REMEMBERED_S * _SECOND,
        "metadata": metadata,
    }
    records = {
        "name": f"{space}-records",
        "subjects": [f"{subjects.log}>"],
        "deny_delete": True,
        "allow_atomic": True,
        "republish": {"src": f"{subjects.log}>", "dest": f"{subjects.saw}log.>", "headers_only": True},
    }
    keys = {
        "name": f"KV_{space}-keys",
        "subjects": [f"{subjects.key}>"],
        "max_msgs_per_subject": 1,
        "discard": "new",
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_msg_ttl": True,
        "republish": {"src": f"{subjects.key}>", "dest": f"{subjects.saw}key.>", "headers_only": True},
    }
    blobs = {
        "name": f"OBJ_{space}-blobs",
        "subjects": [f"{subjects.chunks}>", f"{subjects.meta}>"],
        "discard": "new",
        "allow_rollup_hdrs": True,
    }
    found = [await _opened(link, {**common, **one}, address, is_made=is_made) for one in (records, keys, blobs)]
    first = found[0]
    return Streams(
        Stream(link, f"{space}-records", replicas=found[0].num_replicas, name_of=subjects.log_of),
        Stream(link, f"KV_{space}-keys", replicas=found[1].num_replicas, name_of=subjects.key_of),
        Stream(link, f"OBJ_{space}-blobs", replicas=found[2].num_replicas, name_of=str),
        replicas=first.num_replicas,
        is_atomic=first.allow_atomic,
        is_durable=first.metadata.get(_DURABLE_KEY) == "yes" if is_durable is None else is_durable,
    )


async def _opened(link: Link, config: dict[str, Any], address: Address, *, is_made: bool) -> _Config:
    """Find a stream, or make it."""
    pause = Pause(link)
    name = config["name"]
    while True:
        info = await _asked(link, f"$JS.API.STREAM.INFO.{name}", b"")
        if info.error is not None and info.error.code == 404:
            if not is_made:
                hint = "see that its name is right, nats://host:port/NAME; whoever runs something there makes it"
                raise NoSpace(f"there is no space `{address.name}` at {address.shown}", hint=hint)
            info = await _asked(link, f"$JS.API.STREAM.CREATE.{name}", msgspec.json.encode(config))
        if info.config is not None:
            return _checked(info.config, name, address)
        error = info.error or ApiError()
        if error.err_code == _NOT_CLUSTERED:
            said = f"{address.replicas} replicas need a cluster of servers, and this is one server"
            raise SpaceError("E401", said, hint="docs/how-to/cluster.md shows how to start three")
        # Somebody else made it at the same time, or a cluster has not yet found itself.
        if error.code != 503 and error.err_code not in _NO_PEERS | _TAKEN:
            raise problem(error)
        await pause()


async def _asked(link: Link, subject: str, data: bytes) -> _Info:
    return msgspec.json.decode((await link.ask(subject, data)).data, type=_Info)


def _checked(config: _Config, name: str, address: Address) -> _Config:
    found = config.metadata.get(_FORMAT_KEY)
    if found is None:
        said = f"the server has a stream `{name}` that is not a space's"
        raise SpaceError("E401", said, hint="give the space another name: `nats://host:port/NAME`")
    if found != FORMAT:
        said = f"the space `{address.name}` is kept in format {found}, and this is for format {FORMAT}"
        raise SpaceError("E407", said, hint="use the version of Solvent that made it, or another name")
    if address.replicas is not None and address.replicas != config.num_replicas:
        said = f"the space `{address.name}` has {config.num_replicas} replicas, and not {address.replicas}"
        hint = f"leave `replicas` out, or change it on the server: `nats stream edit {name} --replicas N`"
        raise SpaceError("E401", said, hint=hint)
    return config


__all__ = ["FORMAT", "Streams", "Subjects", "open_streams"]
