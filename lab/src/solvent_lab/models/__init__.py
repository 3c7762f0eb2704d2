"""Models of our protocols: small worlds that are exhausted, and broken ones that must be caught.

One module per protocol, each with `MODELS` and `BROKEN`: names, and functions that build a model.
"""

__all__: list[str] = []
