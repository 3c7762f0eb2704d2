"""One worker of the Redis side: takes two molecules at a time by an atomic script until fewer than two are left.

Started by `bench.protocols.live` with a port and how to talk: `bare`, a socket and the few lines of protocol that one
command needs, or `client`, the `redis` package as most people would. It says `ready`, waits for a line, works, and
prints how many reactions it made.
"""

import socket
import sys

SCRIPT = """
local taken = redis.call('SPOP', KEYS[1], 2)
if #taken == 2 then return 1 end
if #taken == 1 then redis.call('SADD', KEYS[1], taken[1]) end
return 0
"""
KEY = "molecules"


def encoded(*words: str) -> bytes:
    """Put a command into the form Redis reads."""
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        data = word.encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def bare(port: int) -> tuple[object, object]:
    """Give a function that makes one reaction, over a plain socket."""
    line = socket.create_connection(("127.0.0.1", port))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.sendall(encoded("SCRIPT", "LOAD", SCRIPT))
    digest = line.recv(4096).split(b"\r\n")[1].decode()
    command = encoded("EVALSHA", digest, "1", KEY)

    def react() -> bool:
        line.sendall(command)
        return line.recv(4096) == b":1\r\n"

    return react, line


def client(port: int) -> tuple[object, object]:
    """Give a function that makes one reaction, by the `redis` package."""
    import redis

    connection = redis.Redis(port=port)
    script = connection.register_script(SCRIPT)
    keys = [KEY]
    script(keys=["nothing"])
    return lambda: script(keys=keys) == 1, connection


def main() -> None:
    """Work when told to, until fewer than two molecules are left."""
    port, how = int(sys.argv[1]), sys.argv[2]
    react, _line = {"bare": bare, "client": client}[how](port)
    print("ready", flush=True)
    sys.stdin.readline()
    reactions = 0
    while react():
        reactions += 1
    print(reactions, flush=True)


if __name__ == "__main__":
    main()
