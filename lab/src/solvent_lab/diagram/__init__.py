"""Messages between nodes, drawn as text or as a picture."""

__all__: list[str] = []
