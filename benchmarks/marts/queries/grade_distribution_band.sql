WITH counts AS (
    SELECT school_id, semester_id, band,
        CASE
            WHEN grouping(course_class_id) = 0 THEN 'course_class' WHEN grouping(classes.course_name) = 0 THEN 'course'
            WHEN grouping(classes.subject_id) = 0 THEN 'subject' WHEN grouping(students.cohort_id) = 0 THEN 'cohort'
            ELSE 'school'
        END AS group_type,
        coalesce(course_class_id::VARCHAR, classes.course_name, classes.subject_id::VARCHAR, students.cohort_id::VARCHAR,
            '') AS group_key,
        count(*) AS grades
    FROM core.fct_grade AS grades
    JOIN core.dim_course_class AS classes USING (school_id, semester_id, course_class_id)
    JOIN core.dim_student AS students USING (school_id, student_id)
    WHERE grades.source = 'class' AND grades.status <> 'delayed'
    GROUP BY GROUPING SETS (
        (school_id, semester_id, band, course_class_id), (school_id, semester_id, band, classes.course_name),
        (school_id, semester_id, band, classes.subject_id), (school_id, semester_id, band, students.cohort_id),
        (school_id, semester_id, band)
    )
)

SELECT totals.school_id, totals.semester_id, totals.semester_name, totals.group_type, totals.group_key,
    totals.group_name, bands.band, bands.lower_percent, bands.upper_percent, coalesce(counts.grades, 0) AS grades, totals.scored,
    round(100 * coalesce(counts.grades, 0) / totals.scored, 2) AS percent
FROM marts.grade_distribution AS totals
CROSS JOIN (
    VALUES ('90 and above', 90, NULL), ('80 to 90', 80, 90), ('70 to 80', 70, 80), ('60 to 70', 60, 70),
        ('below 60', NULL, 60)
) AS bands (band, lower_percent, upper_percent)
LEFT JOIN counts
    ON counts.school_id = totals.school_id AND counts.semester_id = totals.semester_id
    AND counts.group_type = totals.group_type AND counts.group_key = totals.group_key AND counts.band = bands.band
