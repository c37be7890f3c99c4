-- Grain: school, semester, student, kind of cell (weekday, lesson, course), cell in which the student was recorded.
-- Rules: the student's absences in a cell beside those of the others of the class, in the same cell.
--     weekday   days of that weekday; absent: is_absent_day. The class is the administrative class
--     lesson    lessons of that number, on days that are no absent days. The class is the administrative class
--     course    days with the course class, likewise; absent: at least absent_day_percent (seeds.attendance_thresholds)
--               of its recorded lessons were missed. The class is the course class
--   A whole day missed is one absence of its weekday, and none of its lessons and courses, so that one illness of a day
--   does not count many times.
--   p_value: the chance of so many absences in the cell, or more, if the student's absences were spread over the cells
--   like those of the others. It is exact, given the number of absences of either side: Fisher's noncentral
--   hypergeometric distribution, whose odds are the ratio of the recorded numbers. So neither who is absent often nor
--   a weekday on which everybody is absent makes a pattern.
--   p_value_adjusted: by Holm's method, for the cells of the student that are compared (cells_compared). is_pattern:
--   p_value_adjusted is at most pattern_chance_percent (seeds.attendance_thresholds): so many of 100 students without
--   any pattern are marked, at most.
--   Null without others in the cell, or without another cell to compare with.
-- Known: a pattern is an association. It does not tell the reason, nor whether it goes on; leave counts as absence
--   where it does in rates. Absences of one illness over days are taken for independent ones.
-- Source: marts.attendance_student_day, core.fct_attendance, core.bridge_student_admin_class and dimensions.
with days as (
    select * from {{ ref('attendance_student_day') }} where recorded > 0
),

thresholds as (
    select
        school_id,
        max(value) filter (where threshold = 'absent_day_percent') as absent_day_percent,
        max(value) filter (where threshold = 'pattern_chance_percent') as pattern_chance_percent
    from {{ ref('stg_attendance_thresholds') }}
    group by school_id
),

absent_days as (
    select school_id, semester_id, student_id, date from days where is_absent_day
),

records as (
    select school_id, semester_id, student_id, course_class_id, date, lesson, is_absent
    from {{ ref('fct_attendance') }}
    anti join absent_days using (school_id, semester_id, student_id, date)
    where
        counts_in_denominator
        and semester_id is not null
),

course_days as (
    select
        school_id,
        semester_id,
        student_id,
        course_class_id,
        count(*) as recorded,
        count(*) filter (where is_absent) as absent
    from records
    group by school_id, semester_id, student_id, course_class_id, date
),

cells as (
    select
        school_id,
        semester_id,
        student_id,
        'weekday' as pattern_type,
        cast(weekday as bigint) as pattern_key,
        count(*) as recorded,
        count(*) filter (where is_absent_day) as absent
    from days
    group by school_id, semester_id, student_id, weekday

    union all

    select school_id, semester_id, student_id, 'lesson', cast(lesson as bigint), count(*), count(*) filter (where is_absent)
    from records
    group by school_id, semester_id, student_id, lesson

    union all

    select
        course_days.school_id,
        course_days.semester_id,
        course_days.student_id,
        'course',
        course_days.course_class_id,
        count(*),
        count(*) filter (where 100 * course_days.absent >= thresholds.absent_day_percent * course_days.recorded)
    from course_days
    left join thresholds
        on thresholds.school_id = course_days.school_id
    group by course_days.school_id, course_days.semester_id, course_days.student_id, course_days.course_class_id
),

of_students as (
    select
        cells.*,
        student_classes.admin_class_id,
        if(cells.pattern_type = 'course', cells.pattern_key, student_classes.admin_class_id) as class_id,
        sum(cells.recorded) over in_kind as recorded_in_all,
        sum(cells.absent) over in_kind as absent_in_all
    from cells
    left join {{ ref('bridge_student_admin_class') }} as student_classes
        on student_classes.school_id = cells.school_id
        and student_classes.semester_id = cells.semester_id
        and student_classes.student_id = cells.student_id
    window in_kind as (partition by cells.school_id, cells.semester_id, cells.student_id, cells.pattern_type)
),

beside_others as (
    select
        *,
        {%- for count in ('recorded', 'absent', 'recorded_in_all', 'absent_in_all') %}
        cast(if(class_id is not null, sum({{ count }}) over in_class - {{ count }}, null) as bigint) as others_{{ count }},
        {%- endfor %}
        absent + others_absent as absent_of_both,
        -- The least and the greatest number of these that may be the student's.
        greatest(absent_of_both - others_absent_in_all, 0) as least_absent,
        least(absent_in_all, absent_of_both) as most_absent,
        -- The odds of an absence in the cell of the student, beside those of the others, by what was recorded alone.
        recorded * (others_recorded_in_all - others_recorded)
        / nullif((recorded_in_all - recorded) * others_recorded, 0) as odds
    from of_students
    window in_class as (partition by school_id, semester_id, class_id, pattern_type, pattern_key)
),

-- The logarithm of the chance of each number of absences in the cell, but for a constant.
weighed as (
    select
        *,
        case
            when absent > 0 and odds > 0
                then list_transform(
                    range(cast(least_absent as bigint), cast(most_absent as bigint) + 1),
                    lambda number: number * ln(odds)
                        - lgamma(number + 1)
                        - lgamma(absent_in_all - number + 1)
                        - lgamma(absent_of_both - number + 1)
                        - lgamma(others_absent_in_all - absent_of_both + number + 1)
                )
        end as logarithms,
        list_transform(logarithms, lambda logarithm: exp(logarithm - list_max(logarithms))) as weights
    from beside_others
),

chances as (
    select
        *,
        case
            when odds > 0
                then coalesce(list_sum(weights[absent - least_absent + 1:]) / list_sum(weights), 1)
        end as chance
    from weighed
),

ordered as (
    select
        *,
        count(chance) over of_student as cells_compared,
        row_number() over (of_student order by chance nulls last, pattern_type, pattern_key) as place
    from chances
    window of_student as (partition by school_id, semester_id, student_id)
),

adjusted as (
    select
        *,
        case
            when chance is not null
                then least(max((cells_compared - place + 1) * chance) over (
                    partition by school_id, semester_id, student_id order by place
                ), 1)
        end as adjusted_chance
    from ordered
),

{{ classes_with_names() }},

courses as (
    select
        school_id,
        course_class_id,
        coalesce({{ class_in_words() }}, cast(course_class_id as varchar)) as class
    from classes
),

named as (
    select
        adjusted.*,
        students.student_number,
        students.student_name,
        admin_classes.admin_class_name,
        case adjusted.pattern_type
            when 'weekday' then weekdays.weekday_en || 's'
            when 'lesson' then 'lesson ' || adjusted.pattern_key
            else courses.class
        end as pattern_en,
        case adjusted.pattern_type
            when 'weekday' then weekdays.weekday_zh
            when 'lesson' then '第' || adjusted.pattern_key || '节'
            else courses.class
        end as pattern_zh,
        {{ rate('adjusted.others_absent', 'adjusted.others_recorded') }} as others_absence_rate,
        100 * adjusted.adjusted_chance <= thresholds.pattern_chance_percent as is_pattern
    from adjusted
    left join thresholds
        on thresholds.school_id = adjusted.school_id
    left join (select weekday, {{ in_words('weekday', 'weekday') }} from range(1, 8) as weekdays (weekday)) as weekdays
        on weekdays.weekday = adjusted.pattern_key
        and adjusted.pattern_type = 'weekday'
    left join courses
        on courses.school_id = adjusted.school_id
        and courses.course_class_id = adjusted.pattern_key
        and adjusted.pattern_type = 'course'
    left join {{ ref('dim_student') }} as students
        on students.school_id = adjusted.school_id
        and students.student_id = adjusted.student_id
    left join {{ ref('dim_admin_class') }} as admin_classes
        on admin_classes.school_id = adjusted.school_id
        and admin_classes.admin_class_id = adjusted.admin_class_id
)

select
    named.school_id,
    named.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    named.student_id,
    named.student_number,
    named.student_name,
    named.admin_class_id,
    named.admin_class_name,
    named.pattern_type,
    named.pattern_key,
    named.pattern_en,
    named.pattern_zh,
    named.recorded,
    named.absent,
    {{ rate('named.absent', 'named.recorded') }} as absence_rate,
    named.others_recorded,
    named.others_absent,
    named.others_absence_rate,
    named.cells_compared,
    {{ rounded('named.chance', places=6) }} as p_value,
    {{ rounded('named.adjusted_chance', places=6) }} as p_value_adjusted,
    named.is_pattern
from named
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = named.school_id
    and semesters.semester_id = named.semester_id
