"""Comparisons of agents and measurements of speed: ``python -m benchmarks compare|throughput``."""
