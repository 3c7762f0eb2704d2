"""The language: values (molecules, solutions, rules), and text to tree to solution and back.

Reading order: `molecule`, `operators`, `builtin`, `syntax`, `printer`, `rule`, `solution`; `functions`; `lexer`,
`parser`, `scope`, `evaluate`; `lenient_parser`, `doubts`, `layout`; `pygments_lexer`. Everything else in Solvent stands
on these.
"""

__all__: list[str] = []
