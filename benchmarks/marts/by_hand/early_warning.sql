-- The schools have one semester, so no drop of scores, and enough of everything to tell by. The reasons come in
-- the order of the indicators.
WITH indicators AS (
    SELECT school_id, semester_id, student_id, tier AS attendance_tier, attendance_rate, lateness_rate, failed_courses, missing_rate,
        round(score_rate, 2) AS score_rate,
        if(attendance_rate_change < 0, -attendance_rate_change, attendance_rate_change * 0) AS attendance_drop
    FROM marts.attendance_student_semester
    FULL JOIN marts.grade_student_semester USING (school_id, semester_id, student_id)
    FULL JOIN marts.score_student_semester USING (school_id, semester_id, student_id)
)

SELECT indicators.*, semesters.semester_name, students.student_number, students.student_name,
    coalesce(students.is_deleted, false) AS has_left,
    classes.admin_class_id, admin_classes.admin_class_name, students.cohort_id, students.cohort_name,
    CASE
        WHEN attendance_rate < 80 OR attendance_drop >= 10 OR lateness_rate >= 20 OR score_rate < 65
            OR failed_courses >= 3 OR missing_rate >= 25 THEN 'at_risk'
        WHEN attendance_rate < 88 OR attendance_drop >= 5 OR lateness_rate >= 10 OR score_rate < 72
            OR failed_courses >= 1 OR missing_rate >= 10 THEN 'warning'
        ELSE 'none'
    END AS level,
    concat_ws(
        '; ',
        CASE WHEN attendance_rate < 80 THEN 'attendance ' || attendance_rate || '% (below 80%)'
            WHEN attendance_rate < 88 THEN 'attendance ' || attendance_rate || '% (below 88%)' END,
        CASE WHEN attendance_drop >= 10 THEN 'attendance down ' || attendance_drop || ' points in the last weeks (10 or more)'
            WHEN attendance_drop >= 5 THEN 'attendance down ' || attendance_drop || ' points in the last weeks (5 or more)' END,
        CASE WHEN lateness_rate >= 20 THEN 'late in ' || lateness_rate || '% of lessons attended (20% or more)'
            WHEN lateness_rate >= 10 THEN 'late in ' || lateness_rate || '% of lessons attended (10% or more)' END,
        CASE WHEN score_rate < 65 THEN 'score rate ' || score_rate || '% (below 65%)'
            WHEN score_rate < 72 THEN 'score rate ' || score_rate || '% (below 72%)' END,
        CASE WHEN failed_courses >= 3 THEN 'failed courses: ' || failed_courses || ' (3 or more)'
            WHEN failed_courses >= 1 THEN 'failed courses: ' || failed_courses || ' (1 or more)' END,
        CASE WHEN missing_rate >= 25 THEN missing_rate || '% of the scores are missing (25% or more)'
            WHEN missing_rate >= 10 THEN missing_rate || '% of the scores are missing (10% or more)' END
    ) AS in_english,
    concat_ws(
        '；',
        CASE WHEN attendance_rate < 80 THEN '出勤率' || attendance_rate || '%（低于80%）'
            WHEN attendance_rate < 88 THEN '出勤率' || attendance_rate || '%（低于88%）' END,
        CASE WHEN attendance_drop >= 10 THEN '近期出勤率下降' || attendance_drop || '个百分点（10及以上）'
            WHEN attendance_drop >= 5 THEN '近期出勤率下降' || attendance_drop || '个百分点（5及以上）' END,
        CASE WHEN lateness_rate >= 20 THEN '迟到率' || lateness_rate || '%（20%及以上）'
            WHEN lateness_rate >= 10 THEN '迟到率' || lateness_rate || '%（10%及以上）' END,
        CASE WHEN score_rate < 65 THEN '得分率' || score_rate || '%（低于65%）'
            WHEN score_rate < 72 THEN '得分率' || score_rate || '%（低于72%）' END,
        CASE WHEN failed_courses >= 3 THEN '不及格课程' || failed_courses || '门（3门及以上）'
            WHEN failed_courses >= 1 THEN '不及格课程' || failed_courses || '门（1门及以上）' END,
        CASE WHEN missing_rate >= 25 THEN '缺少' || missing_rate || '%的成绩（25%及以上）'
            WHEN missing_rate >= 10 THEN '缺少' || missing_rate || '%的成绩（10%及以上）' END
    ) AS in_chinese
FROM indicators
LEFT JOIN core.dim_semester AS semesters USING (school_id, semester_id)
LEFT JOIN core.dim_student AS students USING (school_id, student_id)
LEFT JOIN core.bridge_student_admin_class AS classes USING (school_id, semester_id, student_id)
LEFT JOIN core.dim_admin_class AS admin_classes
    ON admin_classes.school_id = indicators.school_id AND admin_classes.admin_class_id = classes.admin_class_id
