"""How old may be what each night makes."""

from datetime import timedelta

import dagster as dg

#: What was not loaded for so long has missed a night.
STALE = timedelta(hours=26)
#: Of assets that every night makes, whether anything has changed or not. Attendance is none of them, since
#: holidays have no weeks, nor is what is made only where something has changed: the models and campus.duckdb.
NIGHTLY = dg.FreshnessPolicy.time_window(fail_window=STALE)
