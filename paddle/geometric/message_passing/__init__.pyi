"""Made by ``tools/public_stubs.py``."""

from paddle.geometric.message_passing.send_recv import send_u_recv as send_u_recv
from paddle.geometric.message_passing.send_recv import send_ue_recv as send_ue_recv
from paddle.geometric.message_passing.send_recv import send_uv as send_uv

__all__ = [
    "send_u_recv",
    "send_ue_recv",
    "send_uv",
]
