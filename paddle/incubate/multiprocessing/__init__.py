"""The module :mod:`multiprocessing`, whose queues and pipes share the memory of tensors rather than copy it.

A tensor of the host is moved to memory that both processes have: what either of them writes, the other reads. One of a
CUDA device stays where it is until the receiver has dropped it, or has ended; the sender must not write it meanwhile.
Others are copied. A tensor that gradients pass through has to be detached first.
"""

from multiprocessing import *  # noqa: F403 the names of the standard library

from paddle.incubate.multiprocessing import reductions  # which registers how tensors are sent
