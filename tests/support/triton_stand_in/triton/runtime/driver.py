"""The active driver: Triton's own, which there is none of here, or one that was set."""


class Config:
    """``active`` is asked at each launch."""

    def __init__(self) -> None:
        self._active = None

    @property
    def active(self):
        if self._active is None:
            raise RuntimeError("0 active drivers ([]). There should only be one.")
        return self._active

    def set_active(self, driver):
        self._active = driver

    def reset_active(self):
        self._active = None


driver = Config()
