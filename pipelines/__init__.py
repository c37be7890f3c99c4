"""When and how it runs: definitions, jobs, schedules, sensors, settings and the command line."""

import gc
import os

from warehouse.files import UMASK

# What imports make stays as long as the process: half a million objects, through which Python would look for
# garbage again and again, a fifth of what importing costs.
gc.set_threshold(50_000, 20, 20)
# Each process imports this package and writes data about children, which nobody but the group may read,
# whatever the caller's umask is. A stricter one stays.
os.umask(os.umask(UMASK) | UMASK)
