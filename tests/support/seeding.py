"""The seeds of a test, by its name: what it draws does not depend on the tests before it."""

from __future__ import annotations

import random
import sys
import zlib

import numpy as np


def number_of(name: str) -> int:
    return zlib.crc32(name.encode())


def seed_by_name(name: str) -> int:
    """Seed every generator that is there; returns the number.

    Nothing is imported: some tests need neither the engine nor the peer. Of PyTorch the CPU's generator alone: for
    other devices ``torch.manual_seed`` formats the stack, which takes most of a millisecond in each test.
    """
    value = number_of(name)
    random.seed(value)
    np.random.seed(value)
    torch, generator = sys.modules.get("torch"), sys.modules.get("umiak.core.generator")
    if hasattr(torch, "default_generator"):
        torch.default_generator.manual_seed(value)
    if hasattr(generator, "seed_all"):
        generator.seed_all(value)
    return value
