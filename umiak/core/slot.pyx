# cython: language_level=3, binding=False
"""What an optimizer keeps for one parameter."""


cdef class Slot:
    """What an optimizer keeps for one parameter, as far as a step reads it in C."""
