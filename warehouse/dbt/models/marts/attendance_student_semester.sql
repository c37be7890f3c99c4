-- Grain: school, semester, student with attendance in the semester, or expected in one of its sessions.
-- Rules: rates come from sums. attendance_rate = 100 * present / recorded, lateness_rate = 100 * late / present. Sessions
--     without a record are in no numerator and no denominator.
--   expected: sessions with a roll taken or due (states recorded and unrecorded of core.fct_class_session) in the
--     student's classes, from joining to leaving. unrecorded: of these, the sessions beyond the student's records, class
--     by class. A student who is gone with all records of the semester is not expected
--     (bridge_class_student.is_expected). Both are null if memberships or students were never loaded.
--   has_left: before the last day of the semester, or by now (core.semester_leaver). Null: not known.
--   tier: of the exact rate (seeds.attendance_tiers); unrecorded without records.
--   chronic_profiles: the profiles of seeds.attendance_profiles that apply. A profile has a least share of recorded
--     lessons missed, and a least number of recorded days. Leave is absence by default. is_chronic: the default profile
--     applies.
--   absence streaks: absent days in a row, of the student's recorded days; lesson streaks: missed lessons in a row, of
--     the recorded lessons. The current streak ends on the last of these. Leave ends an unexcused streak. Long streaks
--     have at least long_streak days or lessons (seeds.attendance_thresholds).
--   recent and earlier columns (the trend): the last trend_weeks (seeds.attendance_thresholds) teaching weeks, up to the
--     school's last recorded week, and the weeks before. Null if the semester's weeks are not known.
--   absences_left: further missed lessons until the default profile applies; 0: so many are missed already.
--     absences_left_by says of which lessons. planned: of those recorded and of planned_lessons, which the timetable still
--     plans for the student's classes, from the day of the last load. recorded: of those recorded, each further absence
--     being one lesson more, since no timetable tells. More absences left than planned lessons: out of reach. Null if the
--     semester is over, the student has left, or below the profile's least number of days.
-- Known: the timetable has no holidays, and not every roll is taken. So planned_lessons is an upper limit, and
--   absences_left by planned lessons may be a few too many.
-- Source: marts.attendance_student_day, core.fct_class_session, core.bridge_class_student, core.fct_timetable.
{%- set streaks = {
    'absence_streak': ('day_marks', true),
    'unexcused_streak': ('day_marks', false),
    'absence_lesson_streak': ('lesson_marks', true),
    'unexcused_lesson_streak': ('lesson_marks', false)
} %}
with days as (
    select * from {{ ref('attendance_student_day') }}
),

sessions as (
    select * from {{ ref('fct_class_session') }} where state in ('recorded', 'unrecorded')
),

class_students as (
    select * from {{ ref('bridge_class_student') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

leavers as (
    select * from {{ ref('semester_leaver') }}
),

grade_levels as (
    select * from {{ ref('cohort_grade_level') }}
),

student_classes as (
    select * from {{ ref('bridge_student_admin_class') }}
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

tiers as (
    select * from {{ ref('stg_attendance_tiers') }}
),

profiles as (
    select * from {{ ref('stg_attendance_profiles') }}
),

thresholds as (
    select
        school_id,
        max(value) filter (where threshold = 'trend_weeks') as trend_weeks,
        max(value) filter (where threshold = 'long_streak') as long_streak
    from {{ ref('stg_attendance_thresholds') }}
    group by school_id
),

trends as (
    select
        days.school_id,
        days.semester_id,
        max(days.week) - any_value(thresholds.trend_weeks) as last_week_before
    from days
    inner join thresholds
        on thresholds.school_id = days.school_id
    where days.recorded > 0
    group by days.school_id, days.semester_id
),

sums as (
    select
        school_id,
        semester_id,
        student_id,
        {{ attendance_sums() }},
        count(*) filter (where recorded > 0) as days_recorded,
        count(*) filter (where is_absent_day) as days_absent,
        any_value(last_week_before) as last_week_before,
        cast(sum(recorded) filter (where week > last_week_before) as bigint) as recent_recorded,
        cast(sum(present) filter (where week > last_week_before) as bigint) as recent_present,
        cast(sum(recorded) filter (where week <= last_week_before) as bigint) as earlier_recorded,
        cast(sum(present) filter (where week <= last_week_before) as bigint) as earlier_present,
        count(*) filter (where is_unexcused_day) as days_unexcused,
        -- Signs in order, for each recorded day and for each lesson, as in lesson_marks.
        string_agg(if(is_unexcused_day, 'x', if(is_absent_day, 'l', '.')), '' order by date)
            filter (where recorded > 0) as day_marks,
        string_agg(lesson_marks, '' order by date) as lesson_marks
    from days
    left join trends using (school_id, semester_id)
    group by school_id, semester_id, student_id
),

-- Running count of a class's sessions, to count those during a membership.
class_days as (
    select
        school_id,
        semester_id,
        course_class_id,
        date,
        sum(count(*)) over (partition by school_id, semester_id, course_class_id order by date) as sessions_so_far
    from sessions
    group by school_id, semester_id, course_class_id, date
),

memberships as (
    select
        class_students.school_id,
        class_students.course_class_id,
        class_students.student_id,
        class_students.semester_id,
        class_students.attendance_records,
        greatest(coalesce(upto.sessions_so_far, 0) - coalesce(before.sessions_so_far, 0), 0) as expected
    from class_students
    asof left join class_days as upto
        on upto.school_id = class_students.school_id
        and upto.semester_id = class_students.semester_id
        and upto.course_class_id = class_students.course_class_id
        and upto.date < coalesce(class_students.left_on, date '9999-12-31')
    asof left join class_days as before
        on before.school_id = class_students.school_id
        and before.semester_id = class_students.semester_id
        and before.course_class_id = class_students.course_class_id
        and before.date < coalesce(class_students.joined_on, date '1900-01-01')
    where class_students.semester_id is not null
        and class_students.is_expected
),

expectations as (
    select
        school_id,
        semester_id,
        student_id,
        cast(sum(expected) as bigint) as expected,
        cast(sum(greatest(expected - attendance_records, 0)) as bigint) as unrecorded
    from memberships
    group by school_id, semester_id, student_id
    having sum(expected) > 0
),

-- The lessons of the timetable of a semester that is not over, and which are still ahead: not yet taken.
timetable as (
    select
        times.school_id,
        times.course_class_id,
        dates.date - semesters.first_day as day,
        dates.date >= semesters.loaded_on
        and dates.week between times.first_week and coalesce(times.last_week, dates.week)
        and (times.week_type = 0 or dates.week % 2 = times.week_type % 2)
        and dates.is_teaching_day is not false
        and sessions.course_class_id is null as is_ahead
    from {{ ref('fct_timetable') }} as times
    inner join semesters
        on semesters.school_id = times.school_id
        and semesters.semester_id = times.semester_id
        and not semesters.is_over
        and semesters.loaded_on is not null
    inner join {{ ref('dim_date') }} as dates
        on dates.school_id = times.school_id
        and dates.semester_id = times.semester_id
        and dates.weekday = times.weekday
    left join sessions
        on sessions.school_id = times.school_id
        and sessions.semester_id = times.semester_id
        and sessions.course_class_id = times.course_class_id
        and sessions.date = dates.date
        and sessions.lesson = times.lesson
),

-- Days are bits, so that a day with several classes counts once. dim_date has at most 732 days of a semester.
planned as (
    select
        school_id,
        course_class_id,
        count(*) filter (where is_ahead) as lessons,
        bitstring_agg(day, 0, 731) filter (where is_ahead) as days
    from timetable
    group by school_id, course_class_id
),

planned_of_students as (
    select
        class_students.school_id,
        class_students.semester_id,
        class_students.student_id,
        cast(sum(planned.lessons) as bigint) as planned_lessons,
        coalesce(bit_count(bit_or(planned.days)), 0) as planned_days
    from class_students
    inner join planned
        on planned.school_id = class_students.school_id
        and planned.course_class_id = class_students.course_class_id
    where class_students.left_on is null
    group by class_students.school_id, class_students.semester_id, class_students.student_id
),

known as (
    select
        sums.* exclude (school_id, semester_id, student_id, {{ attendance_measures() | join(', ') }}),
        {%- for name, (marks, with_leave) in streaks.items() %}
        {{ streak_lengths('sums.' ~ marks, with_leave) }} as {{ name }}s,
        {%- endfor %}
        school_id,
        semester_id,
        student_id,
        {%- for measure in attendance_measures() %}
        coalesce(sums.{{ measure }}, 0) as {{ measure }},
        {%- endfor %}
        coalesce(expectations.expected, 0) as expected,
        coalesce(expectations.unrecorded, 0) as unrecorded
    from sums
    full join expectations using (school_id, semester_id, student_id)
),

chronic as (
    select
        known.school_id,
        known.semester_id,
        known.student_id,
        bool_or(profiles.is_default) as is_chronic,
        list(profiles.profile order by profiles.profile) as chronic_profiles
    from known
    inner join profiles
        on profiles.school_id = known.school_id
        and known.recorded > 0
        and 100 * known.absent >= profiles.absence_percent * known.recorded
        and known.days_recorded >= profiles.minimum_days
    group by known.school_id, known.semester_id, known.student_id
),

-- How much of a share of absences is still missing in a student's lessons, in millionths of a lesson, and how much of it
-- a further absence brings: one of a planned lesson takes its place, any other is a lesson more.
further_absences as (
    select
        known.school_id,
        known.semester_id,
        known.student_id,
        planned.planned_lessons,
        cast(
            10000 * (profiles.absence_percent * (known.recorded + coalesce(planned.planned_lessons, 0)) - 100 * known.absent)
            as hugeint
        ) as missing,
        cast(10000 * if(planned.planned_lessons is null, 100 - profiles.absence_percent, 100) as hugeint) as an_absence
    from known
    left join planned_of_students as planned
        on planned.school_id = known.school_id
        and planned.semester_id = known.semester_id
        and planned.student_id = known.student_id
    inner join profiles
        on profiles.school_id = known.school_id
        and profiles.is_default
        and known.recorded > 0
        and known.days_recorded + coalesce(planned.planned_days, 0) >= profiles.minimum_days
),

remaining as (
    select
        school_id,
        semester_id,
        student_id,
        any_value(planned_lessons) as planned,
        cast(min((greatest(missing, 0) + an_absence - 1) // nullif(an_absence, 0)) as bigint) as absences
    from further_absences
    group by school_id, semester_id, student_id
)

select
    known.school_id,
    known.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    known.student_id,
    students.student_number,
    students.student_name,
    {{ has_left() }} as has_left,
    student_classes.admin_class_id,
    admin_classes.admin_class_name,
    student_classes.is_inferred as admin_class_is_inferred,
    students.cohort_id,
    students.cohort_name,
    grade_levels.grade_level,
    {{ attendance_columns('known') }},
    {{ if_loaded(['class_members', 'students'], 'known.expected') }} as expected,
    {{ if_loaded(['class_members', 'students'], 'known.unrecorded') }} as unrecorded,
    {{ rate('known.present', 'known.recorded') }} as attendance_rate,
    {{ rate('known.late', 'known.present') }} as lateness_rate,
    coalesce(tiers.tier, 'unrecorded') as tier,
    {{ in_words('tier', 'coalesce(tiers.tier, \'unrecorded\')') }},
    coalesce(known.days_recorded, 0) as days_recorded,
    coalesce(known.days_absent, 0) as days_absent,
    case when known.recorded > 0 then coalesce(chronic.is_chronic, false) end as is_chronic,
    case when known.recorded > 0 then coalesce(chronic.chronic_profiles, []) end as chronic_profiles,
    coalesce(known.days_unexcused, 0) as days_unexcused,
    {%- for name in streaks %}
    list_max(known.{{ name }}s) as longest_{{ name }},
    known.{{ name }}s[-1] as current_{{ name }},
    cast(len(list_filter(known.{{ name }}s, lambda length: length >= thresholds.long_streak)) as bigint) as long_{{ name }}s,
    {%- endfor %}
    {%- for part in ('recent_recorded', 'recent_present', 'earlier_recorded', 'earlier_present') %}
    case when known.last_week_before is not null or known.recorded = 0 then coalesce(known.{{ part }}, 0) end as {{ part }},
    {%- endfor %}
    {{ rate('known.recent_present', 'known.recent_recorded') }} as recent_attendance_rate,
    {{ rate('known.earlier_present', 'known.earlier_recorded') }} as earlier_attendance_rate,
    cast(recent_attendance_rate - earlier_attendance_rate as decimal(9, 2)) as attendance_rate_change,
    case when not semesters.is_over and not has_left then remaining.absences end as absences_left,
    case when absences_left is not null then if(remaining.planned is null, 'recorded', 'planned') end as absences_left_by,
    case when absences_left is not null then remaining.planned end as planned_lessons
from known
left join remaining
    on remaining.school_id = known.school_id
    and remaining.semester_id = known.semester_id
    and remaining.student_id = known.student_id
left join thresholds
    on thresholds.school_id = known.school_id
left join chronic
    on chronic.school_id = known.school_id
    and chronic.semester_id = known.semester_id
    and chronic.student_id = known.student_id
left join tiers
    on {{ is_in_tier('known') }}
left join semesters
    on semesters.school_id = known.school_id
    and semesters.semester_id = known.semester_id
left join students
    on students.school_id = known.school_id
    and students.student_id = known.student_id
left join grade_levels
    on grade_levels.school_id = known.school_id
    and grade_levels.semester_id = known.semester_id
    and grade_levels.cohort_id = students.cohort_id
left join leavers
    on leavers.school_id = known.school_id
    and leavers.semester_id = known.semester_id
    and leavers.student_id = known.student_id
left join student_classes
    on student_classes.school_id = known.school_id
    and student_classes.semester_id = known.semester_id
    and student_classes.student_id = known.student_id
left join admin_classes
    on admin_classes.school_id = student_classes.school_id
    and admin_classes.admin_class_id = student_classes.admin_class_id
