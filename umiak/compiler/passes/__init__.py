"""Passes over programs by name, and lists of them: see docs/design/passes.md."""
