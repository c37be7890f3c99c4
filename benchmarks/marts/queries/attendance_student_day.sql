SELECT school_id, semester_id, student_id, date, any_value(week) AS week, any_value(weekday) AS weekday,
    sum(counts_in_denominator::INT) AS recorded, sum(is_present::INT) AS present, sum(is_absent::INT) AS absent,
    sum(is_late::INT) AS late, sum(is_early_left::INT) AS early_left, sum(is_leave::INT) AS on_leave,
    round(100 * absent / nullif(recorded, 0), 2) AS period_absence_rate,
    CASE WHEN recorded > 0 THEN absent >= recorded / 2 END AS is_absent_day
FROM core.fct_attendance
GROUP BY school_id, semester_id, student_id, date
