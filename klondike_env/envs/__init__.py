"""Gymnasium environments on the common frame: one game at a time, or many in one compiled call."""
