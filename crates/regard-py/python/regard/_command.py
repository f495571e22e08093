"""The command `regard`, which is the program of the same name."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line of this process.

    Returns
    -------
    int
        Its exit code.
    """
    from regard import _regard

    # As a program of its own: Ctrl-C is the program's, and a closed pipe ends it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _regard.run_command(["regard", *sys.argv[1:]])
