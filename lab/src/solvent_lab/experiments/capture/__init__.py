"""Experiments 1 to 8 of "Adaptive atomic capture of multiple molecules": figures 3 to 11 and 15 to 19.

Reading order: programs (what is executed), cells (which setups, how often), measurement (what is kept of their runs),
one_rule and several_rules (the figures), claims, claims_one_rule and claims_several_rules (what the paper says beside
what we measure), tables and reproduction (files).
"""

__all__: list[str] = []
