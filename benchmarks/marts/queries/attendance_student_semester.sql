-- Streaks by windows over the days, sessions by a join of members, sessions and records.
WITH days AS (
    SELECT *,
        row_number() OVER student - row_number() OVER (student_and_kind) AS island,
        max(week) OVER (PARTITION BY school_id, semester_id) AS last_week
    FROM marts.attendance_student_day
    WHERE recorded > 0
    WINDOW student AS (PARTITION BY school_id, semester_id, student_id ORDER BY date),
        student_and_kind AS (PARTITION BY school_id, semester_id, student_id, is_absent_day ORDER BY date)
),

streaks AS (
    SELECT school_id, semester_id, student_id, is_absent_day, count(*) AS days, max(date) AS last_day
    FROM days
    GROUP BY school_id, semester_id, student_id, is_absent_day, island
),

longest AS (
    SELECT school_id, semester_id, student_id, coalesce(max(days) FILTER (WHERE is_absent_day), 0) AS longest_absence_streak,
        if(arg_max(is_absent_day, last_day), arg_max(days, last_day), 0) AS current_absence_streak
    FROM streaks
    GROUP BY ALL
),

sums AS (
    SELECT school_id, semester_id, student_id, sum(recorded) AS recorded, sum(present) AS present, sum(absent) AS absent,
        sum(late) AS late, count(*) AS days_recorded, count(*) FILTER (WHERE is_absent_day) AS days_absent,
        coalesce(sum(recorded) FILTER (WHERE week > last_week - 4), 0) AS recent_recorded,
        coalesce(sum(present) FILTER (WHERE week > last_week - 4), 0) AS recent_present
    FROM days
    GROUP BY ALL
),

expectations AS (
    SELECT members.school_id, members.semester_id, members.student_id, count(*) AS expected,
        count(*) FILTER (WHERE attendance.student_id IS NULL) AS unrecorded
    FROM core.bridge_class_student AS members
    JOIN core.fct_class_session AS sessions
        ON sessions.school_id = members.school_id
        AND sessions.course_class_id = members.course_class_id
        AND sessions.state IN ('recorded', 'unrecorded')
        AND (members.joined_on IS NULL OR sessions.date >= members.joined_on)
        AND (members.left_on IS NULL OR sessions.date < members.left_on)
    LEFT JOIN core.fct_attendance AS attendance
        ON attendance.school_id = sessions.school_id
        AND attendance.course_class_id = sessions.course_class_id
        AND attendance.student_id = members.student_id
        AND attendance.date = sessions.date
        AND attendance.lesson = sessions.lesson
    GROUP BY ALL
)

SELECT school_id, semester_id, student_id, recorded, present, absent, late, expected, days_recorded, days_absent,
    longest_absence_streak, current_absence_streak, recent_recorded, recent_present,
    round(100 * present / recorded, 2) AS attendance_rate, round(100 * late / nullif(present, 0), 2) AS lateness_rate,
    CASE
        WHEN 100 * present <= 80 * recorded THEN 'severe'
        WHEN 100 * present <= 90 * recorded THEN 'chronic'
        WHEN 100 * present <= 95 * recorded THEN 'watch'
        ELSE 'satisfactory'
    END AS tier
FROM sums
JOIN longest USING (school_id, semester_id, student_id)
JOIN expectations USING (school_id, semester_id, student_id)
