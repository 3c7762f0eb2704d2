"""Runs machines for real: clocks, sockets and files."""
