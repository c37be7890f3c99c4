WITH grades AS (
    SELECT grades.*, classes.course_name AS course, classes.class_name, classes.subject_id,
        classes.subject_name, students.cohort_id, students.cohort_name
    FROM core.fct_grade AS grades
    JOIN core.dim_course_class AS classes USING (school_id, course_class_id)
    JOIN core.dim_student AS students USING (school_id, student_id)
    WHERE grades.source = 'class' AND grades.status <> 'delayed'
),

groups AS (
    SELECT school_id, semester_id,
        CASE
            WHEN grouping(course_class_id) = 0 THEN 'course_class' WHEN grouping(course) = 0 THEN 'course'
            WHEN grouping(subject_id) = 0 THEN 'subject' WHEN grouping(cohort_id) = 0 THEN 'cohort' ELSE 'school'
        END AS group_type,
        coalesce(course_class_id::VARCHAR, course, subject_id::VARCHAR, cohort_id::VARCHAR, '') AS group_key,
        any_value(grades.course || ' ' || class_name) AS class_shown, any_value(grades.course) AS course_shown,
        any_value(subject_name) AS subject_shown, any_value(cohort_name) AS cohort_shown,
        count(*) AS grades, count(*) AS scored, 0 AS undecided, count(DISTINCT student_id) AS students, count(*) FILTER (WHERE is_passed) AS passed,
        count(*) FILTER (WHERE NOT is_passed) AS failed, count(*) FILTER (WHERE is_excellent) AS excellent,
        sum(real_score) AS score_sum, sum(full_score) AS full_score_sum, sum(score_percent) AS percent_sum,
        round(100 * sum(real_score) / sum(full_score), 4) AS score_rate,
        round(100 * passed / count(*), 2) AS pass_rate, round(100 * excellent / count(*), 2) AS excellent_rate,
        round(sum(score_percent) / count(*), 4) AS mean, round(stddev_samp(score_percent), 4) AS sd,
        min(score_percent) AS least, max(score_percent) AS greatest,
        quantile_cont(score_percent, [0.25, 0.5, 0.75]) AS quartiles
    FROM grades
    GROUP BY GROUPING SETS (
        (school_id, semester_id, course_class_id), (school_id, semester_id, course),
        (school_id, semester_id, subject_id), (school_id, semester_id, cohort_id), (school_id, semester_id)
    )
)

SELECT groups.*, semesters.semester_name, quartiles[1] AS lower_quartile, quartiles[2] AS median,
    quartiles[3] AS upper_quartile,
    CASE group_type
        WHEN 'course_class' THEN class_shown WHEN 'course' THEN course_shown WHEN 'subject' THEN subject_shown
        WHEN 'cohort' THEN cohort_shown ELSE schools.school_name
    END AS group_name
FROM groups
JOIN core.dim_semester AS semesters USING (school_id, semester_id)
JOIN core.dim_school AS schools USING (school_id)
