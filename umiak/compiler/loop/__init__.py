"""Loop IR: kernels with scalar meaning and annotated axes. See docs/design/loop_ir.md."""
