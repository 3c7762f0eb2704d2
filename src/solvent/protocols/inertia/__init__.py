"""Detection of inertia over many nodes: nobody is active, and nothing that could make anybody active is under way.

Reading order: messages, detector, invariants.
"""
