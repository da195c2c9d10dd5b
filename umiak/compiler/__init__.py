"""From an op and a class of operands to something that runs."""
