"""A language server for HOCL: what an editor asks about a text, answered over the language server protocol.

Reading order: positions (lines and UTF-16), wire (messages on a stream), document (a text and what is known of it),
telling (hover), offering (completion and symbols), server.
"""

from solvent.lsp.server import Server, serve

__all__ = ["Server", "serve"]
