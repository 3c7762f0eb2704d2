"""Atomic capture: taking several molecules that lie on many nodes, all or none.

Reading order: vocabulary.
"""
