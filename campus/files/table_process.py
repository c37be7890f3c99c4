"""Reads a table of its standard input, within limits of time and memory: `python -m` with the ending, and the
names of which the header has one.

Its standard output has the lines as MessagePack, or, with the status TOO_LARGE, the limit that ended it.
"""

import resource
import sys

import msgspec

from campus.files.table_file import DAMAGED, OTHER_ENCODING, SECONDS, TOO_LARGE, TooLarge, lines_of

#: Bytes of memory, libraries included. A table of 100,000 rows and 25 columns takes less than half of it.
MEMORY = 1_000_000_000


def limit_resources() -> None:
    """Limit what this process may take from now on."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # A dump of its memory, or any file that it wrote, would have rows about children.
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))


def main(ending: str, *header: str) -> int:
    """Read the table. The exit status: 1 where the file is damaged."""
    limit_resources()
    try:
        answer = msgspec.msgpack.encode(list(lines_of(ending, sys.stdin.buffer.read(), header)))
    except TooLarge as limit:
        sys.stdout.write(str(limit))
        return TOO_LARGE
    except MemoryError:
        sys.stdout.write("1 GB in memory when it is read")
        return TOO_LARGE
    except UnicodeDecodeError:
        return OTHER_ENCODING
    except DAMAGED:
        return 1
    sys.stdout.buffer.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
