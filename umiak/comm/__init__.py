"""Communication among ranks."""
