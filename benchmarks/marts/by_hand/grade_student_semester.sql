WITH sums AS (
    SELECT school_id, semester_id, student_id, count(*) AS courses,
        count(*) FILTER (WHERE is_passed) AS passed_courses, count(*) FILTER (WHERE NOT is_passed) AS failed_courses,
        sum(real_score) AS score_sum, sum(full_score) AS full_score_sum,
        round(100 * sum(real_score) / sum(full_score), 4) AS score_rate,
        round(sum(score_percent * credit) / sum(credit), 4) AS weighted_mean,
        round(sum(grade_points * credit) / sum(credit), 4) AS gpa,
        sum(credit) AS credits, sum(credit) FILTER (WHERE is_passed) AS gained_credits
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
    (weighted_mean - avg(weighted_mean) OVER in_cohort) / stddev_samp(weighted_mean) OVER in_cohort
        AS z_score_in_cohort
FROM sums
JOIN core.dim_semester AS semesters USING (school_id, semester_id)
JOIN core.dim_student AS students USING (school_id, student_id)
JOIN core.bridge_student_admin_class AS classes USING (school_id, semester_id, student_id)
JOIN core.dim_admin_class AS admin_classes
    ON admin_classes.school_id = sums.school_id AND admin_classes.admin_class_id = classes.admin_class_id
WINDOW in_class AS (PARTITION BY school_id, semester_id, classes.admin_class_id),
    in_cohort AS (PARTITION BY school_id, semester_id, students.cohort_id)
