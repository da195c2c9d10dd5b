"""Errors in one form: the op, what was required, what came, what to do."""

from __future__ import annotations

from typing import Any


def op_error(kind: type[Exception], op: str, required: str, got: Any, hint: str = "") -> Exception:
    """Build (not raise) ``[op] requires …, got …. hint``."""
    text = f"[{op}] requires {required}, got {got}"
    return kind(f"{text}. {hint}" if hint else text)
