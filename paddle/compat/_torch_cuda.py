"""Names of ``torch.cuda`` that ``paddle.cuda`` has under others."""

from __future__ import annotations

from typing import Any

from paddle.device.streams import Stream, get_stream_from_external


class ExternalStream(Stream):
    """A stream of another library, by its address."""

    def __new__(cls, stream_ptr: int, device: Any = None) -> Any:
        return get_stream_from_external(stream_ptr, device)
