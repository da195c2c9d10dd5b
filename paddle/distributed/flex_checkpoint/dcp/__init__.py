"""Saving, loading, merging."""
