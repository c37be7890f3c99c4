"""How old may be what each night makes."""

import dagster as dg

from warehouse.age import STALE

#: Of assets that every night makes, whether anything has changed or not. Attendance is none of them, since
#: holidays have no weeks, nor is what is made only where something has changed: the models and campus.duckdb.
NIGHTLY = dg.FreshnessPolicy.time_window(fail_window=STALE)
