"""Models of our protocols: small worlds that the checker exhausts.

One module per protocol with `MODELS`, and perhaps `LARGE`: names, and functions that build a model. Longer ones
have the world and its users in modules of their own: `elmp_world`, `elmp_memory`, `handover_world`, `talker` (`link`).
"""

__all__: list[str] = []
