-- Every course has the platform's points, and every student a transcript of both semesters.
WITH sums AS (
    SELECT courses.school_id, courses.student_id, courses.semester_id, semester_name, first_day, count(*) AS courses,
        count(*) FILTER (WHERE is_published) AS published_courses, 0 AS courses_by_scale, sum(credit) AS credits,
        sum(gained_credit) AS gained_credits, sum(credit) AS gpa_credits, sum(grade_points * credit) AS grade_points_sum
    FROM core.fct_transcript_course AS courses
    JOIN core.dim_semester AS semesters USING (school_id, semester_id)
    GROUP BY ALL
)

SELECT sums.* EXCLUDE (first_day), student_number, student_name, cohort_id, cohort_name,
    row_number() OVER so_far AS semester_number, semester_number = 2 AS is_last,
    round(grade_points_sum / gpa_credits, 4) AS gpa, terms.grade_point_average::DECIMAL(18, 6) AS platform_gpa,
    abs(grade_points_sum / gpa_credits - platform_gpa) <= 0.01 AS gpa_agrees,
    sum(credits) OVER so_far AS cumulative_credits, sum(gained_credits) OVER so_far AS cumulative_gained_credits,
    sum(gpa_credits) OVER so_far AS cumulative_gpa_credits,
    sum(grade_points_sum) OVER so_far AS cumulative_grade_points_sum,
    round(cumulative_grade_points_sum / cumulative_gpa_credits, 4) AS cumulative_gpa,
    CASE WHEN is_last THEN totals.grade_point_average::DECIMAL(18, 6) END AS platform_cumulative_gpa,
    abs(cumulative_grade_points_sum / cumulative_gpa_credits - platform_cumulative_gpa) <= 0.01
        AS cumulative_gpa_agrees
FROM sums
JOIN core.dim_student USING (school_id, student_id)
JOIN raw.transcript_semesters AS terms
    ON terms._school_id = sums.school_id AND terms.student_id = sums.student_id AND terms.semester_id = sums.semester_id
JOIN raw.transcripts AS totals ON totals._school_id = sums.school_id AND totals.student_id = sums.student_id
WINDOW so_far AS (PARTITION BY sums.school_id, sums.student_id ORDER BY first_day)
