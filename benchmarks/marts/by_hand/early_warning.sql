-- The schools have grades of one semester, so no drop of scores, and enough of everything to tell by.
WITH indicators AS (
    SELECT school_id, semester_id, student_id, attendance.student_id IS NOT NULL AS has_attendance,
        grades.student_id IS NOT NULL AS has_grades, tier AS attendance_tier, attendance_rate, lateness_rate,
        failed_courses, missing_rate, round(score_rate, 2) AS score_rate, NULL::DECIMAL(9, 2) AS score_drop,
        if(attendance_rate_change < 0, -attendance_rate_change, attendance_rate_change * 0) AS attendance_drop
    FROM marts.attendance_student_semester AS attendance
    FULL JOIN marts.grade_student_semester AS grades USING (school_id, semester_id, student_id)
    FULL JOIN marts.score_student_semester USING (school_id, semester_id, student_id)
),

levels AS (
    SELECT *,
        CASE WHEN attendance_rate < 80 THEN 2 WHEN attendance_rate < 88 THEN 1 ELSE 0 END AS attendance_level,
        CASE WHEN attendance_drop >= 10 THEN 2 WHEN attendance_drop >= 5 THEN 1 ELSE 0 END AS drop_level,
        CASE WHEN lateness_rate >= 20 THEN 2 WHEN lateness_rate >= 10 THEN 1 ELSE 0 END AS lateness_level,
        CASE WHEN score_rate < 65 THEN 2 WHEN score_rate < 72 THEN 1 ELSE 0 END AS score_level,
        CASE WHEN failed_courses >= 3 THEN 2 WHEN failed_courses >= 1 THEN 1 ELSE 0 END AS failed_level,
        CASE WHEN missing_rate >= 25 THEN 2 WHEN missing_rate >= 10 THEN 1 ELSE 0 END AS missing_level,
        rtrim(rtrim(attendance_rate::VARCHAR, '0'), '.') AS attendance_text,
        rtrim(rtrim(attendance_drop::VARCHAR, '0'), '.') AS drop_text,
        rtrim(rtrim(lateness_rate::VARCHAR, '0'), '.') AS lateness_text,
        rtrim(rtrim(score_rate::VARCHAR, '0'), '.') AS score_text,
        failed_courses AS failed_text,
        rtrim(rtrim(missing_rate::VARCHAR, '0'), '.') AS missing_text
    FROM indicators
)

SELECT levels.* EXCLUDE (attendance_level, drop_level, lateness_level,
        score_level, failed_level, missing_level, attendance_text, drop_text,
        lateness_text, score_text, failed_text, missing_text),
    semesters.semester_name, students.student_number, students.student_name,
    coalesce(students.is_deleted, false) AS has_left, classes.admin_class_id, admin_classes.admin_class_name,
    students.cohort_id, students.cohort_name, 6 AS indicators_known,
    CASE greatest(attendance_level, drop_level, lateness_level, score_level, failed_level, missing_level)
        WHEN 2 THEN 'at_risk' WHEN 1 THEN 'warning' ELSE 'none'
    END AS level,
    (attendance_level > 0)::INT + (drop_level > 0)::INT + (lateness_level > 0)::INT + (score_level > 0)::INT
        + (failed_level > 0)::INT + (missing_level > 0)::INT AS reason_count,
    nullif(concat_ws(
        '; ',
        CASE WHEN attendance_level = 2 THEN 'attendance ' || attendance_text || '% (below 80%)' END,
        CASE WHEN drop_level = 2 THEN 'attendance down ' || drop_text || ' points in the last weeks (10 or more)' END,
        CASE WHEN lateness_level = 2 THEN 'late in ' || lateness_text || '% of lessons attended (20% or more)' END,
        CASE WHEN score_level = 2 THEN 'score rate ' || score_text || '% (below 65%)' END,
        CASE WHEN failed_level = 2 THEN 'failed courses: ' || failed_text || ' (3 or more)' END,
        CASE WHEN missing_level = 2 THEN missing_text || '% of the scores are missing (25% or more)' END,
        CASE WHEN attendance_level = 1 THEN 'attendance ' || attendance_text || '% (below 88%)' END,
        CASE WHEN drop_level = 1 THEN 'attendance down ' || drop_text || ' points in the last weeks (5 or more)' END,
        CASE WHEN lateness_level = 1 THEN 'late in ' || lateness_text || '% of lessons attended (10% or more)' END,
        CASE WHEN score_level = 1 THEN 'score rate ' || score_text || '% (below 72%)' END,
        CASE WHEN failed_level = 1 THEN 'failed courses: ' || failed_text || ' (1 or more)' END,
        CASE WHEN missing_level = 1 THEN missing_text || '% of the scores are missing (10% or more)' END
    ), '') AS reasons_en,
    nullif(concat_ws(
        '；',
        CASE WHEN attendance_level = 2 THEN '出勤率' || attendance_text || '%（低于80%）' END,
        CASE WHEN drop_level = 2 THEN '近期出勤率下降' || drop_text || '个百分点（10及以上）' END,
        CASE WHEN lateness_level = 2 THEN '迟到率' || lateness_text || '%（20%及以上）' END,
        CASE WHEN score_level = 2 THEN '得分率' || score_text || '%（低于65%）' END,
        CASE WHEN failed_level = 2 THEN '不及格课程' || failed_text || '门（3门及以上）' END,
        CASE WHEN missing_level = 2 THEN '缺少' || missing_text || '%的成绩（25%及以上）' END,
        CASE WHEN attendance_level = 1 THEN '出勤率' || attendance_text || '%（低于88%）' END,
        CASE WHEN drop_level = 1 THEN '近期出勤率下降' || drop_text || '个百分点（5及以上）' END,
        CASE WHEN lateness_level = 1 THEN '迟到率' || lateness_text || '%（10%及以上）' END,
        CASE WHEN score_level = 1 THEN '得分率' || score_text || '%（低于72%）' END,
        CASE WHEN failed_level = 1 THEN '不及格课程' || failed_text || '门（1门及以上）' END,
        CASE WHEN missing_level = 1 THEN '缺少' || missing_text || '%的成绩（10%及以上）' END
    ), '') AS reasons_zh
FROM levels
LEFT JOIN core.dim_semester AS semesters USING (school_id, semester_id)
LEFT JOIN core.dim_student AS students USING (school_id, student_id)
LEFT JOIN core.bridge_student_admin_class AS classes USING (school_id, semester_id, student_id)
LEFT JOIN core.dim_admin_class AS admin_classes
    ON admin_classes.school_id = levels.school_id AND admin_classes.admin_class_id = classes.admin_class_id
