"""Processes that share data by handover while some of them are killed."""

__all__: list[str] = []
