"""Expected values that come from somewhere else than the code under test."""
