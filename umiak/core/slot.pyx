# cython: language_level=3, binding=False
"""The state that an optimizer keeps for one parameter."""


cdef class Slot:
    """The state that an optimizer keeps for one parameter, as far as a step reads it in C."""
