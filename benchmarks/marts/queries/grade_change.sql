-- No record is deleted or moves to another semester, and the publication of a score never changes.
WITH changes AS (
    SELECT _school_id AS school_id, split_part(slice, ':', 2)::BIGINT AS semester_id, resource, key::BIGINT AS record_id,
        slice_version, field, before, after, seen_at
    FROM quality.changes
    WHERE op = 'updated'
),

publications AS (
    SELECT * FROM changes WHERE field = 'published_at'
),

grades AS (
    SELECT changes.*, 'grade' AS record_type, grades.owner_id AS student_id, grades.source_id AS assessment_id,
        NULL::BIGINT AS assessment_item_id, NULL::BIGINT AS evaluator_id,
        if(publications.record_id IS NULL, grades.published_at, publications.before::TIMESTAMP) AS published_at_before
    FROM changes
    JOIN raw.grades ON grades._school_id = changes.school_id AND grades.id = changes.record_id
    LEFT JOIN publications
        ON publications.school_id = changes.school_id AND publications.record_id = changes.record_id
        AND publications.slice_version >= changes.slice_version
    WHERE changes.resource = 'grades'
),

scores AS (
    SELECT changes.*, 'score' AS record_type, scores.owner_id AS student_id, scores.assessment_id,
        scores.item_id AS assessment_item_id, scores.evaluator_id, scores.published_at AS published_at_before
    FROM changes
    JOIN raw.scores ON scores._school_id = changes.school_id AND scores.id = changes.record_id
    WHERE changes.resource = 'scores'
)

SELECT records.* EXCLUDE (resource, assessment_id), semesters.semester_name, students.student_number,
    students.student_name, assessments.course_class_id, classes.course_name, classes.class_name, items.item_name,
    teachers.teacher_name AS evaluator_name,
    CASE WHEN before IS NULL THEN 'given' WHEN after IS NULL THEN 'withdrawn' ELSE 'changed' END AS kind,
    1::BIGINT AS records, try_cast(after AS DECIMAL(18, 6)) - try_cast(before AS DECIMAL(18, 6)) AS difference,
    coalesce(published_at_before <= seen_at, false) AS is_after_publication
FROM (FROM grades UNION ALL FROM scores) AS records
JOIN core.dim_semester AS semesters USING (school_id, semester_id)
JOIN core.dim_student AS students USING (school_id, student_id)
JOIN core.dim_assessment AS assessments USING (school_id, assessment_id)
JOIN core.dim_course_class AS classes
    ON classes.school_id = records.school_id AND classes.course_class_id = assessments.course_class_id
LEFT JOIN core.dim_assessment_item AS items
    ON items.school_id = records.school_id AND items.assessment_item_id = records.assessment_item_id
LEFT JOIN core.dim_teacher AS teachers
    ON teachers.school_id = records.school_id AND teachers.teacher_id = records.evaluator_id
