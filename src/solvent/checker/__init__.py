"""Tries every order of events of a small system of machines."""
