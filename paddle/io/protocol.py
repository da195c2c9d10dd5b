"""Message kinds between loaders and workers."""

TASK, RESET, STOP = range(3)  # to a worker
BATCH, END, ERROR = range(3, 6)  # from a worker; END: its stream is over
