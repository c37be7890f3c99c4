"""Reads a packed table of its standard input, within limits of time and memory: `python -m` with the ending.

Its standard output has the lines as MessagePack, or, with the status TOO_LARGE, the limit that ended it.
"""

import resource
import sys

import msgspec

from loading.writes.table_file import DAMAGED, SECONDS, TOO_LARGE, TooLarge, lines_of

#: Bytes of addresses, most of which libraries reserve and never use.
MEMORY = 4_000_000_000


def main(ending: str) -> int:
    """Read the table. The exit status: 1 where the file is damaged."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        lines = list(lines_of(ending, sys.stdin.buffer.read()))
    except TooLarge as limit:
        sys.stdout.write(str(limit))
        return TOO_LARGE
    except MemoryError:
        sys.stdout.write("4 GB of memory when it is read")
        return TOO_LARGE
    except DAMAGED:
        return 1
    sys.stdout.buffer.write(msgspec.msgpack.encode(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
