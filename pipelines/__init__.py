"""When and how it runs: definitions, jobs, schedules, sensors, settings and the command line."""

import gc

# What imports make stays as long as the process: half a million objects, through which Python would look for
# garbage again and again, a fifth of what importing costs.
gc.set_threshold(50_000, 20, 20)
