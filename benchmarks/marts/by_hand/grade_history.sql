-- No grade has changed, and no load has left a log.
SELECT grades._school_id AS school_id, grades.id AS grade_id, grades._semester_id AS semester_id, grades.source,
    assessments.assessment_id, assessments.course_class_id, grades.owner_id AS student_id,
    grades.score::DECIMAL(18, 6) AS score, grades.suggest_score::DECIMAL(18, 6) AS suggest_score,
    coalesce(grades.score, grades.suggest_score)::DECIMAL(18, 6) AS real_score, grades.level, grades.status,
    grades.pass_status, grades.published_at
FROM raw.grades
JOIN core.dim_assessment AS assessments
    ON assessments.school_id = grades._school_id AND assessments.assessment_id = grades.source_id
WHERE grades._deleted_at IS NULL
