WITH counts AS (
    SELECT items.school_id, items.semester_id, members.student_id, count(*) AS expected,
        count(*) FILTER (WHERE scores.is_valid AND scores.score IS NOT NULL) AS scored,
        count(*) FILTER (WHERE NOT scores.is_valid) AS invalid
    FROM core.fct_assessment_item AS items
    JOIN core.bridge_class_student AS members
        ON members.school_id = items.school_id
        AND members.course_class_id = items.course_class_id
        AND (members.joined_on IS NULL OR members.joined_on <= items.known_on)
        AND members.left_on IS NULL
    LEFT JOIN core.fct_item_score AS scores
        ON scores.school_id = items.school_id
        AND scores.assessment_item_id = items.assessment_item_id
        AND scores.student_id = members.student_id
    WHERE items.is_begun
    GROUP BY ALL
)

SELECT *, expected - scored - invalid AS missing, round(100 * (expected - scored - invalid) / expected, 2) AS missing_rate
FROM counts
