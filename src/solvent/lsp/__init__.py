"""A language server for HOCL: what an editor asks about a text, over the Language Server Protocol.

Reading order: `occurrences` (names and where each is bound), `document` (an open text), `features` (hover, completion,
symbols), `server` (messages and the session).
"""

from solvent.lsp.server import Server, serve

__all__ = ["Server", "serve"]
