WITH grades AS (
    SELECT grades.school_id, grades.semester_id, course_class_id, classes.course_name, classes.class_name,
        classes.teacher_names, students.cohort_id, students.cohort_name, score_percent, is_passed
    FROM core.fct_grade AS grades
    JOIN core.dim_course_class AS classes USING (school_id, course_class_id)
    JOIN core.dim_student AS students USING (school_id, student_id)
    WHERE grades.source = 'class' AND grades.status <> 'delayed'
),

classes AS (
    SELECT school_id, semester_id, course_class_id, course_name, cohort_id,
        any_value(class_name) AS class_name, any_value(teacher_names) AS teacher_names,
        any_value(cohort_name) AS cohort_name, count(*) AS class_grades, count(*) AS class_scored, sum(score_percent) AS class_percent_sum,
        class_percent_sum / class_grades AS class_mean, stddev_samp(score_percent) AS class_sd,
        100 * count(*) FILTER (WHERE is_passed) / count(*) AS class_pass_rate
    FROM grades
    GROUP BY ALL
),

cohorts AS (
    SELECT school_id, semester_id, course_name, cohort_id, count(DISTINCT course_class_id) AS cohort_classes,
        count(*) AS cohort_scored, sum(score_percent) AS cohort_percent_sum, cohort_percent_sum / count(*) AS cohort_mean,
        stddev_samp(score_percent) AS cohort_sd, 100 * count(*) FILTER (WHERE is_passed) / count(*) AS cohort_pass_rate
    FROM grades
    GROUP BY ALL
)

SELECT * EXCLUDE (class_mean, class_sd, cohort_mean, cohort_sd, class_pass_rate, cohort_pass_rate),
    round(class_mean, 4) AS class_mean, round(class_sd, 4) AS class_sd, round(cohort_mean, 4) AS cohort_mean,
    round(cohort_sd, 4) AS cohort_sd, round(class_pass_rate, 2) AS class_pass_rate,
    round(cohort_pass_rate, 2) AS cohort_pass_rate,
    cohort_scored - class_scored AS others_scored,
    (cohort_percent_sum - class_percent_sum) / others_scored AS others_mean,
    round(class_mean - others_mean, 4) AS difference,
    round(100 * (class_mean - others_mean) / others_mean, 2) AS relative_difference,
    round(
        (class_mean - others_mean) / sqrt(
            (cohort_sd ** 2 * (cohort_scored - 1) - class_scored * others_scored / cohort_scored * (class_mean - others_mean) ** 2)
            / (cohort_scored - 2)
        ), 4
    ) AS effect_size,
    rank() OVER (PARTITION BY school_id, semester_id, course_name, cohort_id ORDER BY class_mean DESC) AS rank
FROM classes
JOIN cohorts USING (school_id, semester_id, course_name, cohort_id)
JOIN (SELECT school_id, semester_id, semester_name FROM core.dim_semester) USING (school_id, semester_id)
