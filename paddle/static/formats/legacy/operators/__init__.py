"""Translations of older operators, by subject: rows of the table, and rules for those that a row cannot say."""
