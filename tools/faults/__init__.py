"""Plants faults in the product, one at a time, and runs the tests that run the faulty line.

    .venv/bin/python -m tools.faults draw                    # writes faults.tsv, by its seed
    .venv/bin/python -m tools.faults record RECORDS -- -n 3 # runs the suite, records what each test runs
    .venv/bin/python -m tools.faults try RECORDS RESULTS     # tries each fault on the tests of this commit
    .venv/bin/python -m tools.faults together RESULTS NEW    # tries what was not found, on all tests at once
    .venv/bin/python -m tools.faults table BEFORE AFTER      # counts by room; names what AFTER does not find

A suite may replace another if it finds each fault of faults.tsv that the other finds.
"""
