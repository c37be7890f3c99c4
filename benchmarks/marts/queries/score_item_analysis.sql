-- Every item of the benchmark's schools belongs to its test, and enough students have all items.
WITH scores AS (
    SELECT scores.school_id, assessment_id, assessment_item_id, scores.student_id, scores.score, items.full_score
    FROM core.fct_item_score AS scores
    JOIN core.fct_assessment_item AS items USING (school_id, assessment_id, assessment_item_id)
    WHERE scores.is_valid AND scores.score IS NOT NULL
),

totals AS (
    SELECT school_id, assessment_id, student_id, sum(score) AS total,
        count(*) OVER test AS students, greatest(round(students * 0.27), 1) AS group_size,
        rank() OVER (test ORDER BY sum(score) DESC) AS from_top, rank() OVER (test ORDER BY sum(score)) AS from_bottom,
        count(*) OVER (PARTITION BY school_id, assessment_id, sum(score)) AS tied
    FROM scores
    GROUP BY school_id, assessment_id, student_id
    HAVING count(*) = 8
    WINDOW test AS (PARTITION BY school_id, assessment_id)
),

shares AS (
    SELECT *, greatest(least((group_size - from_top + 1) / tied, 1), 0) / group_size
        - greatest(least((group_size - from_bottom + 1) / tied, 1), 0) / group_size AS share
    FROM totals
),

items AS (
    SELECT school_id, assessment_id, assessment_item_id, any_value(students) AS complete_students,
        sum(share * score / full_score) AS discrimination, var_samp(score::DOUBLE) AS variance,
        var_samp(total::DOUBLE) AS total_variance,
        corr(score::DOUBLE, (total - score)::DOUBLE) AS item_rest_correlation
    FROM scores
    JOIN shares USING (school_id, assessment_id, student_id)
    GROUP BY ALL
)

SELECT all_items.school_id, all_items.semester_id, semesters.semester_name, all_items.course_class_id,
    classes.course_name, classes.class_name, classes.teacher_names, all_items.assessment_id, 8 AS test_items, true AS is_in_test,
    all_items.assessment_item_id, all_items.item_name, all_items.full_score, valid_scores AS students, score_sum,
    round(score_sum / valid_scores, 4) AS mean,
    CASE WHEN valid_scores >= 20 THEN round(score_sum / valid_scores / all_items.full_score, 4) END AS difficulty,
    complete_students,
    CASE WHEN complete_students >= 20 THEN round(discrimination, 4) END AS discrimination,
    -- The benchmark's items are no examinations by their names.
    CASE WHEN complete_students < 30 OR NOT regexp_matches(all_items.item_name, '考|测|期[中末]|exam|test|quiz', 'i') THEN NULL
        WHEN round(item_rest_correlation, 2) >= 0.4 THEN 'very good' WHEN round(item_rest_correlation, 2) >= 0.3 THEN 'good'
        WHEN round(item_rest_correlation, 2) >= 0.2 THEN 'revise' ELSE 'poor'
    END AS discrimination_label,
    CASE WHEN complete_students >= 20 THEN round(item_rest_correlation, 4) END AS item_rest_correlation,
    CASE WHEN complete_students >= 20 THEN
        round(8 / 7 * (1 - sum(variance) OVER (PARTITION BY all_items.school_id, all_items.assessment_id) / total_variance), 4)
    END AS alpha
FROM core.fct_assessment_item AS all_items
LEFT JOIN items USING (school_id, assessment_id, assessment_item_id)
JOIN core.dim_semester AS semesters USING (school_id, semester_id)
JOIN core.dim_course_class AS classes USING (school_id, course_class_id)
