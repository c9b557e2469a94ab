"""Klondike. Rules, state layout, moves, compiled kernels, readable positions, the board as text."""
