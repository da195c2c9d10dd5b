"""Under which names a rank and its threads keep what communication needs."""

GROUPS = "groups"  # in the values of a rank's state: its groups by name
DEFERRED = "deferred"  # in the values of a thread's context: the list of tasks that somebody else will wait for
