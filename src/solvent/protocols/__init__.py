"""Protocols as pure machines; simulated, checked and served by three hosts that know none of them.

Reading order: machine; then one folder per protocol: capture (taking molecules that lie on many nodes).
"""
