"""Models that are compiled ahead of their use: weights and machine code for a named processor, which need no Python.

A program for given sizes is lowered as ever (``lowering``); each of its operations becomes a step (``steps``): a kernel
that is compiled from a nest, or one of the functions in ``runtime/``. ``link`` makes one shared library of the kernels,
the tables and the C sources; its interface is ``umiak_inference.h``.
"""
