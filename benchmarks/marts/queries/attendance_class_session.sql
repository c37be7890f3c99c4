SELECT sessions.school_id, sessions.semester_id, semesters.semester_name, sessions.course_class_id, classes.class_code,
    classes.course_name, classes.class_name, classes.subject_name, classes.teacher_ids, classes.teacher_names,
    sessions.date, sessions.week, sessions.weekday, sessions.lesson, lessons.lesson_name, lessons.start_time,
    sessions.is_scheduled, sessions.state, sessions.members, sessions.records,
    sessions.unrecorded_members, sessions.recorded, sessions.present, sessions.absent, sessions.late, sessions.early_left, sessions.on_leave,
    round(100 * sessions.present / nullif(sessions.recorded, 0), 2) AS attendance_rate,
    round(100 * sessions.late / nullif(sessions.present, 0), 2) AS lateness_rate,
    sessions.first_marked_at, sessions.last_marked_at, sessions.platform_attendance_rate
FROM core.fct_class_session AS sessions
JOIN core.dim_course_class AS classes USING (school_id, course_class_id)
JOIN core.dim_semester AS semesters
    ON semesters.school_id = sessions.school_id AND semesters.semester_id = sessions.semester_id
LEFT JOIN core.dim_lesson AS lessons
    ON lessons.school_id = sessions.school_id
    AND lessons.semester_id = sessions.semester_id
    AND lessons.lesson = sessions.lesson
