"""The tensors that a node saved: see saved_tensors.pyx."""
from umiak.core.plan cimport Plan
from umiak.core.node cimport Node

cdef list saved_tensors(Node node, Plan plan, bint create)
