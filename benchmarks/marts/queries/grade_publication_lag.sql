WITH items AS (
    SELECT items.*, max(last_changed_at) OVER (PARTITION BY school_id) AS as_of,
        greatest(epoch(coalesce(published_at, as_of) - last_scored_at) / 86400, 0) AS days,
        classes.course_name || ' ' || classes.class_name AS class_shown, classes.subject_id, classes.subject_name,
        teachers.teacher_name
    FROM core.fct_assessment_item AS items
    JOIN core.dim_course_class AS classes USING (school_id, course_class_id)
    JOIN core.dim_teacher AS teachers ON teachers.school_id = items.school_id AND teacher_id = evaluator_id
    WHERE last_scored_at IS NOT NULL
),

lags AS (
    SELECT school_id, semester_id,
        CASE
            WHEN grouping(course_class_id) = 0 THEN 'course_class' WHEN grouping(subject_id) = 0 THEN 'subject'
            WHEN grouping(evaluator_id) = 0 THEN 'teacher' ELSE 'school'
        END AS group_type,
        coalesce(course_class_id, subject_id, evaluator_id)::VARCHAR AS group_id, any_value(class_shown) AS class_shown,
        any_value(subject_name) AS subject_shown, any_value(teacher_name) AS teacher_shown, count(*) AS items,
        count(published_at) AS published_items, count(*) - published_items AS waiting_items, 7 AS late_days,
        count(*) FILTER (WHERE days > 7) AS late_items, round(100 * late_items / count(*), 2) AS late_rate,
        quantile_cont(days, [0.5, 0.9]) FILTER (WHERE published_at IS NOT NULL) AS quantiles,
        max(days) FILTER (WHERE published_at IS NOT NULL) AS longest_lag,
        max(days) FILTER (WHERE published_at IS NULL) AS longest_wait
    FROM items
    GROUP BY GROUPING SETS (
        (school_id, semester_id, course_class_id), (school_id, semester_id, subject_id),
        (school_id, semester_id, evaluator_id), (school_id, semester_id)
    )
)

SELECT lags.*, coalesce(group_id, '') AS group_key, semesters.semester_name, round(quantiles[1], 2) AS median_lag_days,
    round(quantiles[2], 2) AS p90_lag_days, round(longest_lag, 2) AS longest_lag_days,
    round(longest_wait, 2) AS longest_wait_days,
    CASE group_type
        WHEN 'course_class' THEN class_shown WHEN 'subject' THEN subject_shown WHEN 'teacher' THEN teacher_shown
        ELSE schools.school_name
    END AS group_name
FROM lags
JOIN core.dim_semester AS semesters USING (school_id, semester_id)
JOIN core.dim_school AS schools USING (school_id)
