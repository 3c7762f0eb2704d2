"""Values as bytes: what a call was given and answered, kept across processes and machines.

Reading order: `limits` (for bytes from outside), `encoding` (survives a lack of memory), `large`, `codec`; `text` (a
value as people read it).
"""

__all__: list[str] = []
