"""Libraries for CUDA devices. Each is looked for when it is first wanted."""
