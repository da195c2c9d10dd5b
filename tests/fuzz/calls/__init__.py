"""Random calls of detection, sounds, texts and images, against references in NumPy and PyTorch."""
