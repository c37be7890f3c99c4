-- A grade changes once in its score and once in its publication, and what it was before is what the log says.
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
    SELECT grades._school_id AS school_id, grades.id AS grade_id, grades.semester_id, grades.source, grades.source_id,
        grades.owner_id AS student_id, coalesce(led_back.known_from, loads.seen_at) AS known_from, led_back.known_to,
        if(led_back.score IS NULL, grades.score::DECIMAL(18, 6), led_back.score.was::DECIMAL(18, 6)) AS score,
        grades.suggest_score::DECIMAL(18, 6) AS suggest_score, grades.level, grades.status, grades.pass_status,
        if(led_back.published_at IS NULL, grades.published_at, led_back.published_at.was::TIMESTAMP) AS published_at
    FROM raw.grades
    JOIN loads ON loads.school_id = grades._school_id
    LEFT JOIN led_back ON led_back.school_id = grades._school_id AND led_back.grade_id = grades.id
    WHERE grades._deleted_at IS NULL
)

SELECT stretches.*, coalesce(score, suggest_score) AS real_score, assessments.assessment_id, assessments.course_class_id
FROM stretches
JOIN core.dim_assessment AS assessments
    ON assessments.school_id = stretches.school_id AND assessments.assessment_id = stretches.source_id
