"""When and how it runs: definitions, jobs, schedules, sensors, settings and the command line."""
