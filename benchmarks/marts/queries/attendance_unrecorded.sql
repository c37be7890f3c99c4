WITH due AS (
    SELECT sessions.*, unnest(classes.teacher_ids) AS teacher_id, coalesce(class_name, course_name) AS class_name
    FROM core.fct_class_session AS sessions
    JOIN core.dim_course_class AS classes USING (school_id, course_class_id)
    WHERE state IN ('recorded', 'unrecorded')
),

weeks AS (
    SELECT school_id, semester_id, week, teacher_id, count(*) AS due_sessions,
        sum((state = 'recorded')::INT) AS recorded_sessions, sum((state = 'unrecorded')::INT) AS unrecorded_sessions,
        round(100 * unrecorded_sessions / due_sessions, 2) AS unrecorded_rate,
        string_agg(DISTINCT class_name, ', ' ORDER BY class_name) FILTER (WHERE state = 'unrecorded') AS unrecorded_classes,
        min(date) FILTER (WHERE state = 'unrecorded') AS first_unrecorded_on,
        max(date) FILTER (WHERE state = 'unrecorded') AS last_unrecorded_on
    FROM due
    GROUP BY ALL
)

SELECT weeks.*, semester_name, staff_number, teacher_name
FROM weeks
JOIN core.dim_teacher USING (school_id, teacher_id)
JOIN core.dim_semester USING (school_id, semester_id)
