-- Grain: school, semester, cohort (null: all of the school), kind of group (all, gender, boarding), group.
-- Rules: every student of attendance or of grades, those who have left included, is in one group of each kind, once in
--   the cohort and once in the school; of whom gender or boarding is not known, in unknown. Rates come from sums.
--   Counts of attendance, or of grades, are null where none were ever loaded of the semester, and so is students. Where
--   students were never loaded, which tell the cohorts, there are rows of the school alone.
--   is_suppressed: the figures tell about single students, or let others be worked out that do, so that files that
--   leave the house show none of them. That is so of a group of fewer than small_group_students
--   (seeds.attendance_thresholds), and of the next ones in size, until what is left of the whole tells of two groups
--   at least and of so many students. Of a cohort all groups of a kind are suppressed, or none; where cohorts lack groups,
--   so that a small one could be worked out all the same, all rows of the kind are. Here they all are.
-- Source: marts.attendance_student_semester, marts.grade_student_semester, core.dim_student.
with attendance as (
    select * from {{ ref('attendance_student_semester') }}
),

grades as (
    select * from {{ ref('grade_student_semester') }}
),

people as (
    select * from {{ ref('dim_student') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

thresholds as (
    select school_id, value as small_group
    from {{ ref('stg_attendance_thresholds') }}
    where threshold = 'small_group_students'
),

students as (
    select
        school_id,
        semester_id,
        student_id,
        attendance.recorded,
        attendance.present,
        attendance.absent,
        attendance.unexcused,
        attendance.late,
        attendance.is_chronic,
        grades.score_sum,
        grades.full_score_sum,
        grades.counted_courses,
        grades.failed_courses
    from attendance
    full join grades using (school_id, semester_id, student_id)
),

grouped as (
    select
        students.*,
        people.cohort_id,
        people.cohort_name,
        unnest(['all', 'gender', 'boarding']) as group_type,
        unnest([
            'all',
            case when people.gender in ('m', 'f') then people.gender else 'unknown' end,
            case people.is_boarding when true then 'boarding' when false then 'day' else 'unknown' end
        ]) as group_code
    from students
    left join people
        on people.school_id = students.school_id
        and people.student_id = students.student_id
),

sums as (
    select
        school_id,
        semester_id,
        grouping(cohort_id) = 1 as is_school,
        cohort_id,
        any_value(cohort_name) as cohort_name,
        group_type,
        group_code,
        count(*) as students,
        coalesce(cast(sum(recorded) as bigint), 0) as recorded,
        coalesce(cast(sum(present) as bigint), 0) as present,
        coalesce(cast(sum(absent) as bigint), 0) as absent,
        coalesce(cast(sum(unexcused) as bigint), 0) as unexcused,
        coalesce(cast(sum(late) as bigint), 0) as late,
        count(*) filter (where recorded > 0) as recorded_students,
        count(*) filter (where is_chronic) as chronic_students,
        sum(score_sum) as score_sum,
        sum(full_score_sum) as full_score_sum,
        coalesce(cast(sum(counted_courses) as bigint), 0) as counted_courses,
        coalesce(cast(sum(failed_courses) as bigint), 0) as failed_courses
    from grouped
    group by grouping sets (
        (school_id, semester_id, group_type, group_code),
        (school_id, semester_id, cohort_id, group_type, group_code)
    )
),

sized as (
    select
        sums.*,
        thresholds.small_group,
        sums.students < thresholds.small_group as is_small
    from sums
    left join thresholds
        on thresholds.school_id = sums.school_id
),

-- The cohorts of the school, and the groups of each kind in the school as a whole, the smallest first.
alone as (
    select
        sized.*,
        is_small
        or (
            bool_or(is_small) over (in_whole rows between unbounded preceding and unbounded following)
            and (row_number() over in_whole <= 2 or sum(students) over in_whole - students < small_group)
        ) as is_hidden
    from sized
    where
        is_school
        or group_type = 'all'
    window in_whole as (
        partition by school_id, semester_id, is_school, group_type order by students, group_code, cohort_id
    )
),

-- The kinds of groups in cohorts: all groups of a kind or none, since those of one cohort make up the whole of it, and
-- those of all cohorts that of the school.
kinds as (
    select
        sized.school_id,
        sized.semester_id,
        sized.group_type,
        sized.cohort_id,
        bool_or(sized.is_small or cohorts.is_hidden) as must_hide,
        row_number() over (
            partition by sized.school_id, sized.semester_id, sized.group_type
            order by bool_or(sized.is_small or cohorts.is_hidden) desc, sum(sized.students), sized.cohort_id
        ) as place
    from sized
    inner join alone as cohorts
        on cohorts.school_id = sized.school_id
        and cohorts.semester_id = sized.semester_id
        and cohorts.cohort_id is not distinct from sized.cohort_id
        and not cohorts.is_school
    where
        not sized.is_school
        and sized.group_type <> 'all'
    group by sized.school_id, sized.semester_id, sized.group_type, sized.cohort_id
),

counted as (
    select
        kinds.*,
        sized.small_group,
        sum(sized.students) over (
            partition by sized.school_id, sized.semester_id, sized.group_type, sized.group_code order by kinds.place
        ) - sized.students as hidden_before
    from sized
    inner join kinds
        on kinds.school_id = sized.school_id
        and kinds.semester_id = sized.semester_id
        and kinds.group_type = sized.group_type
        and kinds.cohort_id is not distinct from sized.cohort_id
    where not sized.is_school
),

hidden_kinds as (
    select
        school_id,
        semester_id,
        group_type,
        cohort_id,
        must_hide
        or (
            bool_or(must_hide) over (partition by school_id, semester_id, group_type)
            and (place <= 2 or is_too_few)
        ) as is_hidden
    from (
        select
            school_id,
            semester_id,
            group_type,
            cohort_id,
            must_hide,
            place,
            bool_or(hidden_before between 1 and small_group - 1) as is_too_few
        from counted
        group by all
    )
),

ranked as (
    select * from alone

    union all by name

    select sized.*, hidden_kinds.is_hidden
    from sized
    inner join hidden_kinds
        on hidden_kinds.school_id = sized.school_id
        and hidden_kinds.semester_id = sized.semester_id
        and hidden_kinds.group_type = sized.group_type
        and hidden_kinds.cohort_id is not distinct from sized.cohort_id
    where not sized.is_school
),

-- Which cells of the table of places (cohorts and the school) by groups are hidden, whole places among them. Such a cell
-- cannot be worked out from the others where it is the corner of a rectangle of hidden ones.
hidden as (
    select
        *,
        if(is_school, 'school', coalesce(cast(cohort_id as varchar), 'none')) as place,
        unnest(if(group_type = 'all', ['gender', 'boarding'], [group_type])) as kind
    from ranked
    where is_hidden
),

corners as (
    select distinct
        one.school_id,
        one.semester_id,
        one.kind,
        one.place,
        one.group_code
    from hidden as one
    inner join hidden as beside
        on beside.school_id = one.school_id
        and beside.semester_id = one.semester_id
        and beside.kind = one.kind
        and beside.place = one.place
        and beside.group_code <> one.group_code
    inner join hidden as below
        on below.school_id = one.school_id
        and below.semester_id = one.semester_id
        and below.kind = one.kind
        and below.group_code = one.group_code
        and below.place <> one.place
    inner join hidden as across
        on across.school_id = one.school_id
        and across.semester_id = one.semester_id
        and across.kind = one.kind
        and across.place = below.place
        and across.group_code = beside.group_code
),

-- Kinds of which a small group could be worked out all the same, as few cohorts have groups to hide it among.
open_kinds as (
    select distinct school_id, semester_id, group_type
    from hidden
    anti join corners using (school_id, semester_id, kind, place, group_code)
    where
        is_small
        and group_type <> 'all'
)

select
    ranked.school_id,
    ranked.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    ranked.is_school,
    ranked.cohort_id,
    case when not ranked.is_school then ranked.cohort_name end as cohort_name,
    ranked.group_type,
    ranked.group_code,
    {{ in_words('group', 'ranked.group_code') }},
    'all' as population,
    coalesce(ranked.is_hidden, true) or open_kinds.school_id is not null as is_suppressed,
    {{ if_loaded(['attendance_records', 'grades'], 'ranked.students') }} as students,
    {{ if_loaded(['attendance_records'], 'ranked.recorded_students') }} as recorded_students,
    {{ if_loaded(['attendance_records'], 'ranked.recorded') }} as recorded,
    {{ if_loaded(['attendance_records'], 'ranked.present') }} as present,
    {{ if_loaded(['attendance_records'], 'ranked.absent') }} as absent,
    {{ if_loaded(['attendance_records'], 'ranked.unexcused') }} as unexcused,
    {{ if_loaded(['attendance_records'], 'ranked.late') }} as late,
    {{ rate('ranked.present', 'ranked.recorded') }} as attendance_rate,
    {{ rate('ranked.unexcused', 'ranked.recorded') }} as unexcused_rate,
    {{ rate('ranked.late', 'ranked.present') }} as lateness_rate,
    {{ if_loaded(['attendance_records'], 'ranked.chronic_students') }} as chronic_students,
    {{ rate('ranked.chronic_students', 'ranked.recorded_students') }} as chronic_rate,
    cast(ranked.score_sum as decimal(38, 6)) as score_sum,
    cast(ranked.full_score_sum as decimal(38, 6)) as full_score_sum,
    {{ percent('ranked.score_sum', 'ranked.full_score_sum', places=2) }} as score_rate,
    {{ if_loaded(['grades'], 'ranked.counted_courses') }} as counted_courses,
    {{ if_loaded(['grades'], 'ranked.failed_courses') }} as failed_courses,
    {{ rate('(ranked.counted_courses - ranked.failed_courses)', 'ranked.counted_courses') }} as pass_rate
from ranked
left join semesters
    on semesters.school_id = ranked.school_id
    and semesters.semester_id = ranked.semester_id
left join open_kinds
    on open_kinds.school_id = ranked.school_id
    and open_kinds.semester_id = ranked.semester_id
    and open_kinds.group_type = ranked.group_type
where
    ranked.is_school
    or not coalesce(list_contains(semesters.never_loaded, 'students'), false)
