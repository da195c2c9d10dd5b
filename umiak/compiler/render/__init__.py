"""Loop IR as text for a target. See docs/design/loop_ir.md and docs/design/gpu_rendering.md."""
