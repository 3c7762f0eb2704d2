"""Runs a program over many processes that talk to each other.

Reading order. What goes where: standing (which rules stay as they are), dealing (shares). What travels: writing
(molecules as text), shapes (what a node wants to hear of).
"""
