"""The playground: programs of strangers, run in processes that are watched and ended.

A question (check, run, explore, why ...) is answered by a process that is made for it: it takes one question, gives one
answer and ends. So nothing that a program does, however long, large or deep, is left behind, and whoever asks can end
it at any time. Programs call built-in functions only, which are pure: no files, no network, no functions of a host.

Reading order: question (what may be asked, and the limits), problems (errors with their places), moments (a run, step
by step), orders (every order), origins (why, and why not), answering (questions to answers), process (what runs in the
process), sandbox (who starts and ends it). `examples` finds programs to begin with, `words` what colours a text.
"""

from solvent.web.playground.question import Question
from solvent.web.playground.sandbox import Sandbox

__all__ = ["Question", "Sandbox"]
