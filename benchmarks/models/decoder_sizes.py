"""Sizes of a LLaMA-like decoder of 1.1 thousand million numbers, for every side of a comparison."""

WIDTH, HIDDEN, LAYERS, HEADS, KEY_HEADS, HEAD, WORDS = 2048, 5632, 22, 32, 4, 64, 32000
GROUP = 64  # inputs of 4 bits that share a scale
PROMPT = 512  # tokens
BASE = 1e4  # of the rotary embedding's wavelengths
EPSILON = 1e-5  # of the norms
