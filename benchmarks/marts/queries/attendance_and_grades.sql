WITH students AS (
    SELECT school_id, semester_id, tier, recorded, present, present / recorded AS attendance_share, score_rate,
        score_sum, full_score_sum, counted_courses, failed_courses,
        CASE
            WHEN score_rate >= 90 THEN '90 and above'
            WHEN score_rate >= 80 THEN '80 to 90'
            WHEN score_rate >= 70 THEN '70 to 80'
            WHEN score_rate >= 60 THEN '60 to 70'
            ELSE 'below 60'
        END AS band
    FROM marts.attendance_student_semester
    JOIN marts.grade_student_semester USING (school_id, semester_id, student_id)
),

correlations AS (
    SELECT school_id, semester_id, round(corr(attendance_share, score_rate), 4) AS correlation
    FROM students
    GROUP BY ALL
)

SELECT school_id, semester_id, semester_name, tier, band, count(*) AS students, sum(recorded) AS recorded,
    sum(present) AS present, round(100 * sum(present) / sum(recorded), 2) AS attendance_rate,
    sum(score_sum) AS score_sum, sum(full_score_sum) AS full_score_sum,
    round(100 * sum(score_sum) / sum(full_score_sum), 2) AS score_rate, sum(counted_courses) AS counted_courses,
    sum(failed_courses) AS failed_courses,
    any_value(correlation) AS correlation,
    sum(count(*)) OVER in_tier AS students_of_tier, round(100 * count(*) / students_of_tier, 2) AS percent_of_tier
FROM students
JOIN correlations USING (school_id, semester_id)
JOIN core.dim_semester USING (school_id, semester_id)
GROUP BY school_id, semester_id, semester_name, tier, band
WINDOW in_tier AS (PARTITION BY school_id, semester_id, tier)
