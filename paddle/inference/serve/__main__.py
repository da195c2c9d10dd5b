"""``python -m paddle.inference.serve MODEL``: a model over HTTP, until it is told to stop."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence

from paddle.inference.serve.process import (
    DONE,
    ENDLESS,
    NO_MODEL,
    NO_PACKAGES,
    NO_PORT,
    USAGE,
    listen,
    run_until_told,
)

_CODES = (
    f"exit codes: {DONE} told to stop (SIGTERM or SIGINT), after all requests were answered; {USAGE} wrong arguments; "
    f"{NO_MODEL} the model cannot be loaded; {NO_PORT} the address cannot be had; {NO_PACKAGES} the extra umiak[serve] "
    f"is not installed; {ENDLESS} told to stop, and a run of the model had not ended after --grace seconds"
)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"a number of 1 or more is required, got {text}")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < 86400:
        raise argparse.ArgumentTypeError(f"a time from 0 to a day is required, got {text}")
    return number


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    made = argparse.ArgumentParser("python -m paddle.inference.serve", description="A model over HTTP.", epilog=_CODES)
    made.add_argument("model", help="a folder, the file of a program, or what the names of a model's files begin with")
    made.add_argument("--host", default="127.0.0.1", help="the address (%(default)s)")
    made.add_argument("--port", type=int, default=8080, help="the port; 0 for any that is free (%(default)s)")
    made.add_argument("--threads", type=_positive, default=1, help="threads of one run (%(default)s)")
    made.add_argument("--predictors", type=_positive, default=1, help="runs side by side (%(default)s)")
    made.add_argument(
        "--max-batch", type=_positive, default=1,
        help="samples of several requests in one run; for models that treat each sample by itself (%(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--max-delay", type=_seconds, default=0.002, help="seconds that a request waits for others (%(default)s)"
    )
    made.add_argument("--max-waiting", type=_positive, default=256, help="requests that may wait (%(default)s)")
    made.add_argument("--max-megabytes", type=_positive, default=64, help="size of a request (%(default)s)")
    made.add_argument("--timeout", type=_seconds, default=60.0, help="seconds for one request (%(default)s)")
    made.add_argument(
        "--grace", type=_positive, default=30, help="seconds for requests in hand when told to stop (%(default)s)"
    )
    made.add_argument("--bfloat16", action="store_true", help="compute in bfloat16 what loses little by it")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; return the exit code."""
    given = parser().parse_args(arguments)
    missing = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{', '.join(missing)} are required, got none: pip install starlette uvicorn", file=sys.stderr)
        return NO_PACKAGES
    from paddle.inference import Config, create_predictor
    from paddle.inference.loading import files_of
    from paddle.inference.serve.application import Limits, application

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    try:
        config = Config(*files_of(given.model))
        config.set_cpu_math_library_num_threads(given.threads)
        if given.bfloat16:
            config.enable_onednn_bfloat16()
        predictor = create_predictor(config)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"the model cannot be loaded: {error}", file=sys.stderr)
        return NO_MODEL
    try:
        listening = listen(given.host, given.port)
    except (OSError, OverflowError) as error:
        print(f"the address {given.host}:{given.port} cannot be had: {error}", file=sys.stderr)
        return NO_PORT
    limits = Limits(
        rows=given.max_batch, delay=given.max_delay, waiting=given.max_waiting, body=given.max_megabytes << 20,
        seconds=given.timeout, predictors=given.predictors, grace=given.grace,
    )  # fmt: skip
    app = application(predictor, limits)
    run_until_told(app, listening, given.host, given.grace)
    if not app.state.model.ended:
        print(f"a run of the model has not ended within {given.grace} s, and ends with the process", file=sys.stderr)
        sys.stderr.flush()
        os._exit(ENDLESS)  # the interpreter's own end would wait for the run, or pull its memory away
    return DONE


if __name__ == "__main__":
    sys.exit(main())
