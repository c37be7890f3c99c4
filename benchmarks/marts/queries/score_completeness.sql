SELECT items.school_id, items.semester_id, semesters.semester_name, items.course_class_id, classes.course_name,
    classes.class_name, classes.teacher_names, items.assessment_id, items.assessment_item_id, items.item_name,
    items.evaluator_id, evaluators.teacher_name AS evaluator_name,
    CASE WHEN expected = 0 THEN 'no_students' WHEN NOT is_begun THEN 'not_started' WHEN missing > 0 THEN 'partial'
        ELSE 'complete' END AS state,
    expected, scored, zeros, invalid, missing, others_scored,
    round(100 * (expected - missing) / expected, 2) AS completeness_rate, first_scored_at, last_scored_at,
    items.published_at
FROM core.fct_assessment_item AS items
JOIN core.dim_semester AS semesters USING (school_id, semester_id)
JOIN core.dim_course_class AS classes USING (school_id, course_class_id)
LEFT JOIN core.dim_teacher AS evaluators
    ON evaluators.school_id = items.school_id AND evaluators.teacher_id = items.evaluator_id
