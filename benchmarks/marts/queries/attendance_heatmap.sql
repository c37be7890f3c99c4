WITH cells AS (
    SELECT school_id, semester_id, weekday, lesson, count(*) AS sessions,
        sum((state = 'recorded')::INT) AS recorded_sessions, sum((state = 'unrecorded')::INT) AS unrecorded_sessions,
        sum((state NOT IN ('recorded', 'unrecorded'))::INT) AS other_sessions,
        sum(recorded) AS recorded, sum(present) AS present, sum(absent) AS absent, sum(late) AS late,
        sum(early_left) AS early_left, sum(on_leave) AS on_leave,
        round(100 * sum(present) / nullif(sum(recorded), 0), 2) AS attendance_rate,
        round(100 * sum(late) / nullif(sum(present), 0), 2) AS lateness_rate
    FROM core.fct_class_session
    GROUP BY ALL
)

SELECT cells.*, semester_name, days.label AS weekday_name, lesson_name, start_time, end_time
FROM cells
JOIN core.dim_semester USING (school_id, semester_id)
LEFT JOIN core.dim_lesson USING (school_id, semester_id, lesson)
LEFT JOIN raw.timetable_days AS days
    ON days._school_id = cells.school_id AND days.semester_id = cells.semester_id AND days.day = cells.weekday
