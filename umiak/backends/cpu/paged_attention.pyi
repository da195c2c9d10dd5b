"""Attention over pages on the CPU: see paged_attention.pyx."""

from umiak.backends.cpu.attention import Attention

CODES: dict[str, int]  # of launches that were refused

class WritePages:
    address: int
    self_pointer: int
    def __init__(self, size: int, integers: list[int]) -> None: ...

class PagedAttention(Attention):
    def read_pages(self, copy: int, copy_any: int, size: int, integers: list[int]) -> None: ...
