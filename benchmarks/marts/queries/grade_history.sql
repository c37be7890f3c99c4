-- No grade is deleted. Each changes its score and its publication at most once, and the log has the values before.
WITH moments AS (
    SELECT _school_id AS school_id, key::BIGINT AS grade_id, seen_at,
        any_value({'was': before}) FILTER (WHERE field = 'score') AS score,
        any_value({'was': before}) FILTER (WHERE field = 'published_at') AS published_at
    FROM quality.changes
    WHERE resource = 'grades' AND op = 'updated'
    GROUP BY ALL
),

loads AS (
    SELECT _school_id AS school_id, seen_at FROM quality.changes WHERE resource = 'grades' AND op = 'loaded'
),

led_back AS (
    SELECT school_id, grade_id, seen_at AS known_from, lead(seen_at) OVER of_grade AS known_to,
        first_value(score IGNORE NULLS) OVER later AS score,
        first_value(published_at IGNORE NULLS) OVER later AS published_at
    FROM (
        FROM moments
        UNION ALL BY NAME
        SELECT DISTINCT school_id, grade_id, loads.seen_at FROM moments JOIN loads USING (school_id)
    )
    WINDOW of_grade AS (PARTITION BY school_id, grade_id ORDER BY seen_at),
        later AS (
            PARTITION BY school_id, grade_id ORDER BY seen_at ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
),

stretches AS (
    SELECT grades.school_id, grades.grade_id, grades.semester_id, grades.source, grades.assessment_id,
        grades.course_class_id, grades.student_id, coalesce(led_back.known_from, loads.seen_at) AS known_from,
        led_back.known_to, if(led_back.score IS NULL, grades.score, led_back.score.was::DECIMAL(18, 6)) AS score,
        grades.suggest_score, grades.level, grades.status, grades.pass_status,
        if(led_back.published_at IS NULL, grades.published_at, led_back.published_at.was::TIMESTAMP) AS published_at
    FROM core.fct_grade AS grades
    JOIN loads USING (school_id)
    LEFT JOIN led_back ON led_back.school_id = grades.school_id AND led_back.grade_id = grades.grade_id
)

SELECT *, coalesce(score, suggest_score) AS real_score
FROM stretches
