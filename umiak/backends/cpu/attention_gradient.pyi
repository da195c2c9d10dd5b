"""The gradient of attention on the CPU: see attention_gradient.pyx."""

LAUNCH: int  # the address of its launch function
