-- Everybody is recorded in every month.
WITH months AS (
    SELECT school_id, semester_id, student_id, last_day(date) AS month_end, sum(recorded) AS month_recorded,
        sum(present) AS month_present, sum(absent) AS month_absent, sum(late) AS month_late,
        sum(early_left) AS month_early_left, sum(on_leave) AS month_on_leave, count(*) AS month_days,
        count(*) FILTER (WHERE is_absent_day) AS month_days_absent
    FROM marts.attendance_student_day
    WHERE recorded > 0
    GROUP BY ALL
),

snapshots AS (
    SELECT school_id, semester_id, student_id, month_end, month_recorded, month_present,
        sum(month_recorded) OVER so_far AS recorded, sum(month_present) OVER so_far AS present,
        sum(month_absent) OVER so_far AS absent, sum(month_late) OVER so_far AS late,
        sum(month_early_left) OVER so_far AS early_left, sum(month_on_leave) OVER so_far AS on_leave,
        sum(month_days) OVER so_far AS days_recorded, sum(month_days_absent) OVER so_far AS days_absent
    FROM months
    WINDOW so_far AS (PARTITION BY school_id, semester_id, student_id ORDER BY month_end)
)

SELECT snapshots.*, semester_name, student_number, student_name,
    round(100 * present / recorded, 2) AS attendance_rate, round(100 * late / nullif(present, 0), 2) AS lateness_rate,
    round(100 * month_present / month_recorded, 2) AS month_attendance_rate,
    CASE
        WHEN 100 * present <= 80 * recorded THEN 'severe'
        WHEN 100 * present <= 90 * recorded THEN 'chronic'
        WHEN 100 * present <= 95 * recorded THEN 'watch'
        ELSE 'satisfactory'
    END AS tier
FROM snapshots
JOIN core.dim_semester USING (school_id, semester_id)
JOIN core.dim_student USING (school_id, student_id)
