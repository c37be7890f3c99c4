"""Wrong numbers in the built marts of grades, so that each of their checks has something to find."""

TAMPERED_GRADES = {
    "grade_distribution": (
        "update marts.grade_distribution set passed = passed + 1, pass_rate = 200, score_rate = 200",
        "insert into marts.grade_distribution from marts.grade_distribution",
    ),
    "grade_distribution_band": (
        "update marts.grade_distribution_band set percent = 200",
        "insert into marts.grade_distribution_band from marts.grade_distribution_band",
    ),
    "grade_class_against_cohort": (
        "update marts.grade_class_against_cohort set class_scored = class_grades + 1",
        "insert into marts.grade_class_against_cohort from marts.grade_class_against_cohort",
    ),
    "score_completeness": (
        "update marts.score_completeness set zeros = scored + 1, completeness_rate = 200",
        "insert into marts.score_completeness from marts.score_completeness",
    ),
    "score_item_analysis": (
        "update marts.score_item_analysis set complete_students = students + 1, difficulty = 2",
        "insert into marts.score_item_analysis from marts.score_item_analysis",
    ),
    "grade_publication_lag": (
        "update marts.grade_publication_lag set late_items = items + 1",
        "insert into marts.grade_publication_lag from marts.grade_publication_lag",
    ),
    "grade_history": (
        "insert into marts.grade_history from marts.grade_history",
        "insert into marts.grade_history select * replace (known_from as known_to) from marts.grade_history",
    ),
    "grade_change": (
        "update marts.grade_change set kind = 'made up'",
        "insert into marts.grade_change from marts.grade_change",
    ),
    "transcript_gpa": (
        "update marts.transcript_gpa set gpa_credits = credits + 1, gpa_agrees = false",
        "insert into marts.transcript_gpa from marts.transcript_gpa",
    ),
}
