"""Names that annotations of kernels use."""


class constexpr:
    """Marks a parameter that is a constant of the compiled kernel."""
