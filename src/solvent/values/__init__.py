"""Values as bytes: what a call was given and answered, kept across processes and machines.

Reading order: `limits` (for bytes from outside), `encoding` (survives a lack of memory), `arrays`, `tables`,
`library_types`, `codecs` (those of users), `pickles`, `classes` (instances by their fields), `large`, `places` (which
part of a value is wrong), `codec`; `text` (a value as people read it); `annotations` (a value as a function wants
it).
"""

__all__: list[str] = []
