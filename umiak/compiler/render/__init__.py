"""Text of loop IR kernels for machines. See docs/design/loop_ir.md."""
