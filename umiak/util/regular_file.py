"""Opening files that must be files: what names a pipe, a device or a folder is refused before a byte of it is read."""

from __future__ import annotations

import errno
import os
import stat

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
}


class NotRegular(ValueError):
    """The name is that of something else than a regular file; ``kind`` says of what."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(f"{path!r} is {kind}")
        self.kind = kind


def open_regular(path: str, flags: int = 0) -> int:
    """A descriptor to read a regular file.

    The file is opened first and looked at then, so that it cannot be exchanged in between. Opening does not wait, as it
    otherwise does for the writer of a pipe.

    Raises:
        NotRegular: something else than a file.
        OSError: as ``os.open``.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # sockets cannot be opened
            raise NotRegular(path, "a socket") from None
        if error.errno == errno.ELOOP and flags & os.O_NOFOLLOW:
            raise NotRegular(path, "a link") from None
        raise
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    raise NotRegular(path, _KINDS.get(stat.S_IFMT(mode), "no regular file"))
