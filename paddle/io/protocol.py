"""What loaders and workers say to one another."""

TASK, RESET, STOP = range(3)  # to a worker
BATCH, END, ERROR = range(3, 6)  # from a worker; END: its stream is over
