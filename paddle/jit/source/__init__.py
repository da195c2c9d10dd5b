"""Functions rewritten so that branches and loops on tensors become operations (docs/design/source_rewriting.md)."""
