"""Inference from C and C++: headers, and the library that embeds the interpreter."""
