"""The freshness policy of assets that every night makes."""

import dagster as dg

from warehouse.age import STALE

#: For assets that every night makes, even without changes. Attendance has no policy, since holidays have no
#: weeks. The models and campus.duckdb have none, since they are made only after changes.
NIGHTLY = dg.FreshnessPolicy.time_window(fail_window=STALE)
