"""``python -m paddle.distributed.flex_checkpoint``: see ``--help``."""

import sys

from umiak.checkpoint.commands import main

if __name__ == "__main__":
    sys.exit(main())
