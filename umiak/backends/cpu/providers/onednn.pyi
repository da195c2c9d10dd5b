"""oneDNN through ``dlopen``: see onednn.pyx."""

def load(path: str) -> None:
    """Use the library at ``path`` from now on. OSError says why not; then nothing has changed."""

def loaded() -> tuple[int, int, int] | None:
    """Its version, or None."""

def isa() -> int:
    """Its name for the instructions it uses, as a number of ``dnnl_cpu_isa_t``."""
