"""The playground: programs of strangers, run in processes that are limited and ended.

A question (check, run, explore, why ...) is answered by a process of its own, which ends afterwards. So nothing of a
program is left behind, and the viewer can end it at any time. Programs call built-in functions only, which are pure: no
files, no network, no functions of a host.

Reading order: `question` (questions, limits, errors), `steps` (a run step by step), `answers`, `process` (runs in the
process), `sandbox` (starts and ends it), `editor` (examples and colours), `routes`.
"""

__all__: list[str] = []
