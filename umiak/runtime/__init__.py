"""Running programs, and watching what runs."""
