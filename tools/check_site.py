"""Opens the documentation site in a headless browser, and looks for a function in its search, as a reader would.

``python tools/check_site.py build/site [--pictures FOLDER]``. Chromium or Chrome must be on the path, or be named by
``BROWSER``; the exit code is 1 when a page does not show what it should, 2 when there is no browser or no site.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What a page must show once its scripts have run, by its address.
EXPECTED = {
    "index.html": r"<h1>.*Documentation",
    "guide/first-steps.html": r"to_tensor",
    "search.html?q=softmax": r'href="api/paddle\.nn\.functional/[\w.-]*html#paddle\.nn\.functional\.softmax"',
    "api/paddle.fft.html": r'id="paddle\.fft\.rfft"',
}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what is missing shows in the page."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine alone, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def command(browser: str, profile: str, *options: str) -> list[str]:
    """The browser without a screen, without a profile of anyone's, and without calls to its maker."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    quiet = "no-first-run disable-gpu disable-sync disable-background-networking disable-component-update disable-quic"
    flags = [f"--{flag}" for flag in quiet.split()]
    return [
        browser,
        "--headless",
        *sandbox,
        *flags,
        f"--user-data-dir={profile}",
        "--virtual-time-budget=20000",
        *options,
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of each page")
    options = parser.parse_args()
    browser = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not (options.site / "index.html").exists():
        missing = "no browser: install chromium" if browser is None else f"no site in {options.site}: run `make docs`"
        print(missing, file=sys.stderr)
        return 2
    wrong = 0
    with served(options.site) as address, tempfile.TemporaryDirectory() as profile:
        for page, pattern in EXPECTED.items():
            run = functools.partial(subprocess.run, capture_output=True, text=True, timeout=120)
            shown = run(command(browser, profile, "--dump-dom", f"{address}/{page}")).stdout
            found = re.search(pattern, shown) is not None
            wrong += not found
            print(f"{page}: {'shown' if found else f'MISSING {pattern}'}")
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                picture = options.pictures / (re.sub(r"\W+", "-", page) + ".png")
                run(
                    command(browser, profile, f"--screenshot={picture}", "--window-size=1280,1000", f"{address}/{page}")
                )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
