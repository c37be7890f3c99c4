"""When and how the project runs: definitions, jobs, schedules, sensors, settings and the command line."""

import gc
import os

from warehouse.files import UMASK

# Imports make half a million objects that stay as long as the process. Searching them for garbage again and
# again would take a fifth of the import time.
gc.set_threshold(50_000, 20, 20)
# Each process imports this package and writes data about children. Only the owner and the group may read
# them, whatever the caller's umask is; a stricter umask stays.
os.umask(os.umask(UMASK) | UMASK)
