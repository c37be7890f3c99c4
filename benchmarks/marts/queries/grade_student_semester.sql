-- Delayed grades do not count, and no grade is pending. Every grade has a credit and the platform's points.
WITH sums AS (
    SELECT school_id, semester_id, student_id, count(*) AS courses, 0 AS pending_courses,
        count(*) FILTER (WHERE status <> 'delayed') AS counted_courses, counted_courses AS scored_courses,
        count(*) FILTER (WHERE status <> 'delayed' AND is_passed) AS passed_courses,
        count(*) FILTER (WHERE status <> 'delayed' AND NOT is_passed) AS failed_courses, 0 AS undecided_courses,
        sum(real_score) FILTER (WHERE status <> 'delayed') AS score_sum,
        sum(full_score) FILTER (WHERE status <> 'delayed') AS full_score_sum,
        sum(score_percent * credit) FILTER (WHERE status <> 'delayed') AS weighted_percent_sum,
        sum(credit) FILTER (WHERE status <> 'delayed') AS weight_sum,
        sum(credit) AS credits, coalesce(sum(credit) FILTER (WHERE status <> 'delayed' AND is_passed), 0) AS gained_credits,
        sum(grade_points * credit) FILTER (WHERE status <> 'delayed') AS grade_points_sum, weight_sum AS gpa_credits,
        'platform' AS gpa_source, round(100 * score_sum / full_score_sum, 4) AS score_rate,
        round(weighted_percent_sum / weight_sum, 4) AS weighted_mean, round(grade_points_sum / weight_sum, 4) AS gpa
    FROM core.fct_grade
    WHERE source = 'class'
    GROUP BY ALL
)

SELECT sums.*, semesters.semester_name, students.student_number, students.student_name,
    classes.admin_class_id, admin_classes.admin_class_name, students.cohort_id, students.cohort_name,
    rank() OVER (in_class ORDER BY weighted_mean DESC) AS rank_in_class, count(*) OVER in_class AS class_size,
    percent_rank() OVER (in_class ORDER BY weighted_mean DESC) AS percent_rank_in_class,
    rank() OVER (in_cohort ORDER BY weighted_mean DESC) AS rank_in_cohort, count(*) OVER in_cohort AS cohort_size,
    percent_rank() OVER (in_cohort ORDER BY weighted_mean DESC) AS percent_rank_in_cohort,
    round((weighted_mean - avg(weighted_mean) OVER in_cohort) / stddev_samp(weighted_mean) OVER in_cohort, 4)
        AS z_score_in_cohort
FROM sums
JOIN core.dim_semester AS semesters USING (school_id, semester_id)
JOIN core.dim_student AS students USING (school_id, student_id)
JOIN core.bridge_student_admin_class AS classes USING (school_id, semester_id, student_id)
JOIN core.dim_admin_class AS admin_classes
    ON admin_classes.school_id = sums.school_id AND admin_classes.admin_class_id = classes.admin_class_id
WINDOW in_class AS (PARTITION BY school_id, semester_id, classes.admin_class_id),
    in_cohort AS (PARTITION BY school_id, semester_id, students.cohort_id)
