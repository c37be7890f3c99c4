"""The names of jobs. The module imports quickly."""

DISCOVERY, PUBLISH, DISTRICT_JOB, MAINTENANCE = "discovery", "publish", "publish_district", "maintenance"
SCHOOL_NIGHT, MORNING, PUSHES = "school_night", "morning", "pushes"
EXPORTS, SITE_JOB, DELIVER = "exports", "site", "deliver"
