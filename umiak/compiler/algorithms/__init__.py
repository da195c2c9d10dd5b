"""Ops whose elements cannot be asked for one by one: sorts, factorisations, transforms, recurrences.

Each is a body of statements of the loop IR that runs at each row or matrix (``BodyStage``), for devices that have no
library of such. Processors have, and do not import this.
"""
