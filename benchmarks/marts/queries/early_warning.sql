-- The schools have grades of one semester, so scores cannot drop, and every indicator has enough rows.
WITH indicators AS (
    SELECT school_id, semester_id, student_id, attendance.student_id IS NOT NULL AS has_attendance,
        grades.student_id IS NOT NULL AS has_grades, tier AS attendance_tier, coalesce(is_chronic, false) AS is_chronic,
        attendance_rate, lateness_rate,
        failed_courses, missing_rate, round(score_rate, 2) AS score_rate, NULL::DECIMAL(9, 2) AS score_drop,
        if(attendance_rate_change < 0, -attendance_rate_change, attendance_rate_change * 0) AS attendance_drop
    FROM marts.attendance_student_semester AS attendance
    FULL JOIN marts.grade_student_semester AS grades USING (school_id, semester_id, student_id)
    FULL JOIN marts.score_student_semester USING (school_id, semester_id, student_id)
),

ranked AS (
    SELECT indicators.*,
        100 * (rank() OVER (cohort ORDER BY lateness_rate DESC) - 1) < 10 * (count(*) OVER cohort - 1) AS among_late,
        100 * (rank() OVER (cohort ORDER BY score_rate) - 1) < 10 * (count(*) OVER cohort - 1) AS among_low,
        100 * (rank() OVER (cohort ORDER BY missing_rate DESC) - 1) < 10 * (count(*) OVER cohort - 1) AS among_missing
    FROM indicators
    LEFT JOIN core.dim_student AS students USING (school_id, student_id)
    WINDOW cohort AS (PARTITION BY school_id, semester_id, students.cohort_id, students.is_deleted)
),

-- 3 at risk, 2 a warning, 1 to be watched.
levels AS (
    SELECT *,
        CASE WHEN attendance_rate <= 80 THEN 3 WHEN attendance_rate <= 90 THEN 2 WHEN attendance_rate <= 95 THEN 1 ELSE 0 END
            AS attendance_level,
        CASE WHEN attendance_drop >= 15 THEN 3 WHEN attendance_drop >= 8 THEN 2 ELSE 0 END AS drop_level,
        CASE WHEN lateness_rate >= 10 AND among_late THEN 2 ELSE 0 END AS lateness_level,
        CASE WHEN score_rate < 50 THEN 3 WHEN score_rate < 70 AND among_low THEN 2 ELSE 0 END AS score_level,
        CASE WHEN failed_courses >= 4 THEN 3 WHEN failed_courses >= 2 THEN 2 ELSE 0 END AS failed_level,
        CASE WHEN missing_rate >= 40 THEN 3 WHEN missing_rate >= 10 AND among_missing THEN 2 ELSE 0 END AS missing_level
    FROM ranked
)

SELECT levels.* EXCLUDE (among_late, among_low, among_missing, attendance_level, drop_level, lateness_level,
        score_level, failed_level, missing_level),
    semesters.semester_name, students.student_number, students.student_name,
    coalesce(students.is_deleted, false) AS has_left, classes.admin_class_id, admin_classes.admin_class_name,
    students.cohort_id, students.cohort_name, 6 AS indicators_known,
    (attendance_level >= 2 OR drop_level >= 2)::INT + (lateness_level >= 2 OR missing_level >= 2)::INT
        + (score_level >= 2 OR failed_level >= 2)::INT AS warning_areas,
    CASE
        WHEN greatest(attendance_level, drop_level, score_level, failed_level, missing_level) = 3 THEN 'at_risk'
        WHEN attendance_level = 2 OR failed_level = 2 OR warning_areas >= 2 THEN 'warning'
        WHEN greatest(attendance_level, drop_level, lateness_level, score_level, missing_level) > 0 THEN 'watch'
        ELSE 'none'
    END AS level,
    (attendance_level > 0)::INT + (drop_level > 0)::INT + (lateness_level > 0)::INT + (score_level > 0)::INT
        + (failed_level > 0)::INT + (missing_level > 0)::INT AS reason_count
FROM levels
LEFT JOIN core.dim_semester AS semesters USING (school_id, semester_id)
LEFT JOIN core.dim_student AS students USING (school_id, student_id)
LEFT JOIN core.bridge_student_admin_class AS classes USING (school_id, semester_id, student_id)
LEFT JOIN core.dim_admin_class AS admin_classes
    ON admin_classes.school_id = levels.school_id AND admin_classes.admin_class_id = classes.admin_class_id
