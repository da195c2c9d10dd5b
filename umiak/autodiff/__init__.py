"""Derivatives: one rule per op, driven over recorded calls (umiak.core.tape) and over programs."""
