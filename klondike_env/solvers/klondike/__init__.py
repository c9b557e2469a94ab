"""Klondike with all cards known: can a deal or position be won, and how?"""

from klondike_env.solvers.klondike.solver import Verdict, solve, solve_many

__all__ = ["Verdict", "solve", "solve_many"]
