"""Runs forms of calls (`forms.py`) in the framework that `import paddle` finds: which give what the call gives?

    python forms_worker.py FORMS RESULTS

FORMS has one JSON pair `[call, form]` per line. RESULTS gets a line per form: `same`, the kind of an error, or the
record of another result; of one that ends the process, an empty line.
"""

from __future__ import annotations

import json
import os
import sys

import worker


def main(forms: str, results: str) -> None:
    expected: dict[str, str] = {}
    with open(forms) as source, open(results, "a") as out:
        for line in source:
            call, form = json.loads(line)
            out.write("\n")
            out.flush()
            if call not in expected:
                expected = {call: worker.outcome(call, call)}
            found = worker.outcome(call, form)
            out.seek(out.tell() - 1)
            out.truncate()
            out.write(("same" if found == expected[call] and found[0] in "[{" else found) + "\n")
            out.flush()


if __name__ == "__main__":
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    main(*sys.argv[1:])
