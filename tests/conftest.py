"""Settings that every test shares."""

from hypothesis import settings

# No deadline: the first call of a compiled function takes seconds, and shared machines stall.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")
