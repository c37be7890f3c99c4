-- Grain: school, semester, teacher with rolls due (teacher null: the class has no known teacher).
-- Rules: sessions with a roll taken or due count for each of their teachers, as in marts.attendance_unrecorded. A roll
--     begins with its first mark.
--       in_time   no later than roll_in_time_minutes (seeds.attendance_thresholds) after the lesson begins
--       same_day  later on the day
--       later     on another day
--       untimed   the lesson or its marks have no time
--   in_time_rate = 100 * rolls_in_time / (rolls_in_time + rolls_same_day + rolls_later).
--   median_minutes, p90_minutes: from the lesson's beginning to the first mark, of rolls begun on their day. A roll begun
--     before the lesson has 0 minutes.
--   late_marks, late_minutes: marks of late students, made on the day, and the minutes from the lesson's beginning to
--     the mark. If cards are swiped, a mark is the student's arrival; if a teacher marks, it is the time of marking.
--     Null if no lesson has a time.
-- Source: marts.attendance_class_session, core.fct_attendance and dimensions.
with sessions as (
    select *
    from {{ ref('attendance_class_session') }}
    where state in ('recorded', 'unrecorded')
),

thresholds as (
    select school_id, value as in_time_minutes
    from {{ ref('stg_attendance_thresholds') }}
    where threshold = 'roll_in_time_minutes'
),

teachers as (
    select * from {{ ref('dim_teacher') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

lateness as (
    select
        sessions.school_id,
        sessions.course_class_id,
        sessions.date,
        sessions.lesson,
        list(greatest(date_diff('minute', sessions.date + sessions.start_time, marks.marked_at), 0)) as late_minutes
    from {{ ref('fct_attendance') }} as marks
    inner join sessions
        on sessions.school_id = marks.school_id
        and sessions.course_class_id = marks.course_class_id
        and sessions.date = marks.date
        and sessions.lesson = marks.lesson
    where
        marks.is_late
        and cast(marks.marked_at as date) = marks.date
        and sessions.start_time is not null
    group by sessions.school_id, sessions.course_class_id, sessions.date, sessions.lesson
),

timed as (
    select
        sessions.school_id,
        sessions.semester_id,
        sessions.state,
        unnest(coalesce(nullif(sessions.teacher_ids, []), [null])) as teacher_id,
        case
            when sessions.start_time is null then null
            else date_diff('minute', sessions.date + sessions.start_time, sessions.first_marked_at)
        end as minutes,
        cast(sessions.first_marked_at as date) > sessions.date as is_another_day,
        sessions.start_time is not null as has_time,
        lateness.late_minutes
    from sessions
    left join lateness using (school_id, course_class_id, date, lesson)
),

judged as (
    select
        timed.*,
        case
            when timed.state = 'unrecorded' then 'not_taken'
            when timed.minutes is null then 'untimed'
            when timed.minutes <= thresholds.in_time_minutes then 'in_time'
            when timed.is_another_day then 'later'
            else 'same_day'
        end as roll,
        case when not timed.is_another_day and timed.minutes is not null then greatest(timed.minutes, 0) end as day_minutes
    from timed
    left join thresholds
        on thresholds.school_id = timed.school_id
),

sums as (
    select
        school_id,
        semester_id,
        teacher_id,
        count(*) as due_sessions,
        bool_or(has_time) as has_times,
        {%- for roll in ('in_time', 'same_day', 'later', 'untimed', 'not_taken') %}
        count(*) filter (where roll = '{{ roll }}') as rolls_{{ roll }},
        {%- endfor %}
        cast(quantile_disc(day_minutes, 0.5) as bigint) as median_minutes,
        cast(quantile_disc(day_minutes, 0.9) as bigint) as p90_minutes,
        flatten(list(late_minutes) filter (where late_minutes is not null)) as late_minutes
    from judged
    group by school_id, semester_id, teacher_id
)

select
    sums.school_id,
    sums.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    sums.teacher_id,
    teachers.staff_number,
    teachers.teacher_name,
    sums.due_sessions,
    sums.rolls_in_time,
    sums.rolls_same_day,
    sums.rolls_later,
    sums.rolls_untimed,
    sums.rolls_not_taken,
    {{ rate('sums.rolls_in_time', '(sums.rolls_in_time + sums.rolls_same_day + sums.rolls_later)') }} as in_time_rate,
    sums.median_minutes,
    sums.p90_minutes,
    case when sums.has_times then coalesce(cast(len(sums.late_minutes) as bigint), 0) end as late_marks,
    case when sums.has_times then coalesce(cast(list_sum(sums.late_minutes) as bigint), 0) end as late_minutes,
    cast(list_aggregate(sums.late_minutes, 'quantile_disc', 0.5) as bigint) as median_late_minutes
from sums
left join semesters
    on semesters.school_id = sums.school_id
    and semesters.semester_id = sums.semester_id
left join teachers
    on teachers.school_id = sums.school_id
    and teachers.teacher_id = sums.teacher_id
