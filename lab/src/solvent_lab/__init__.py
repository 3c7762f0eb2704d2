"""The lab: Solvent's protocols simulated, checked in every order, broken on purpose, and put into storms.

It is a package of its own, which nobody needs to run a workflow. It adds the command `solvent lab`.

simulator      machines on a simulated network, from one seed, with faults
checker        every order of events of small worlds; `models` are the worlds
broken         variants of the protocols with one known fault each, which the checker must catch
experiments    the experiments of three papers, with data and plots
token_systems  the token paper's six rewriting systems; `token_peers` are other algorithms for the same job
chaos          processes that hand data over while some of them are killed
diagram        messages between nodes as text or picture
cli            the words of `solvent lab`
"""

__all__: list[str] = []
