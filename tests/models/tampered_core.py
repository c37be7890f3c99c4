"""Wrong numbers in the built dimensions and facts, so that each check that blocks has something to find."""

TAMPERED_CORE = (
    "update core.dim_date set week = 0",
    "update core.fct_assessment_item set missing = missing + 1",
    "update core.fct_attendance set is_absent = is_present, school_id = 9",
    "update core.fct_class_session set records = records - 1, school_id = 9",
    "update core.fct_grade set school_id = 9",
    "update core.fct_score set school_id = 9",
    "update core.fct_transcript_course set school_id = 9",
    "insert into core.unmatched_v1 (school_id) values (1)",
)
