WITH weeks AS (
    SELECT school_id, semester_id, course_class_id, week, count(*) AS sessions,
        sum((state = 'recorded')::INT) AS recorded_sessions, sum((state = 'unrecorded')::INT) AS unrecorded_sessions,
        sum((state NOT IN ('recorded', 'unrecorded'))::INT) AS other_sessions,
        sum(recorded) AS recorded, sum(present) AS present, sum(absent) AS absent, sum(late) AS late,
        sum(early_left) AS early_left, sum(on_leave) AS on_leave,
        round(100 * recorded_sessions / nullif(recorded_sessions + unrecorded_sessions, 0), 2) AS recording_rate,
        round(100 * sum(present) / nullif(sum(recorded), 0), 2) AS attendance_rate,
        round(100 * sum(late) / nullif(sum(present), 0), 2) AS lateness_rate
    FROM core.fct_class_session
    GROUP BY ALL
)

SELECT weeks.*, semester_name, class_code, course_name, class_name, subject_name, teacher_names
FROM weeks
JOIN core.dim_course_class USING (school_id, semester_id, course_class_id)
JOIN core.dim_semester USING (school_id, semester_id)
