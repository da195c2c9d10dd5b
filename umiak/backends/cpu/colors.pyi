"""Changes of the colours of PIL images of mode RGB, with Pillow's own results, in the images' memory.

A change is one pass over the pixels; Pillow makes three or more, with an image between each two.
"""

from typing import Any

class Pixels:
    """The pixels of an image, as it exports them: ``image.__arrow_c_array__()``. They live as long as this object.

    Raises ValueError where a pixel is not four bytes. Changes write to ``out``, the pixels of a new image of that size.
    """

    count: int
    def __init__(self, exported: tuple[Any, Any]) -> None: ...
    def shift_hues(self, out: Pixels, shift: int) -> None:
        """Hues moved on by ``shift`` parts of 256 of their circle, by way of HSV in bytes."""

    def blend_value(self, out: Pixels, value: float, factor: float) -> None:
        """From ``value`` everywhere, at a factor of 0, to the image, at 1, and beyond."""

    def blend_grey(self, out: Pixels, factor: float) -> None:
        """From the image in grey, at a factor of 0, to the image, at 1, and beyond."""

    def mean_brightness(self) -> float:
        """Mean of the pixels in grey, each rounded to an integer."""
