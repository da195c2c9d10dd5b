"""Keys of communication's data in the state of a rank and in the contexts of its threads."""

GROUPS = "groups"  # in the values of a rank's state: its groups by name
DEFERRED = "deferred"  # in the values of a thread's context: the list of tasks that somebody else will wait for
REDUCERS = "reducers"  # in the values of a rank's state: what averages gradients, by the name of its group
