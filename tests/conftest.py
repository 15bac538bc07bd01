import pytest
from hypothesis import settings

# The same examples in every run; a case that a longer search finds becomes a test of its own.
settings.register_profile("fnabi", deadline=None, derandomize=True, max_examples=500)
settings.load_profile("fnabi")

pytest.register_assert_rewrite("outcomes")
