-- Grain: school, semester, cohort (null: all of the school), kind of group (all, gender, boarding), group.
-- Rules: every student of attendance or of grades, those who have left included, is in one group of each kind, once in
--   the cohort and once in the school; of whom gender or boarding is not known, in unknown. Rates come from sums.
--   pass_rate leaves out courses that are neither passed nor failed yet.
--   Counts of attendance, or of grades, are null where none were ever loaded of the semester, and so is students. Where
--   students were never loaded, which tell the cohorts, there are rows of the school alone.
--   *_low, *_high: 95% intervals with the student as the unit, as a student's lessons and courses go together. Of
--   attendance_rate and pass_rate by Wilson, with lessons and courses divided by their design effect, pooled over the groups of a
--   kind; of chronic_rate, which has one answer a student, by Wilson; of score_rate by Student's t from the variance of the
--   students' points around the rate.
--   *_verdict: the group beside the others of its kind in the cohort or the school: above or below, where the 95%
--   interval of the shrunken difference (marts.grade_class_against_cohort) leaves out zero, else not distinguishable; too
--   few: fewer than comparison_minimum_grades (seeds.grade_thresholds) students on a side. Null where suppressed.
--   is_suppressed: the figures tell about single students, or let others be worked out that do, so that files that
--   leave the house show none of them. That is so of a group of which fewer than small_group_students
--   (seeds.attendance_thresholds), but not nobody, enter one of the figures: have a row, recorded attendance, or a
--   counted, scored or decided course. And of the next ones in size, until what is left of the whole tells of two groups
--   at least and of so many students in each figure. Of a cohort all groups of a kind are suppressed, or none; where
--   cohorts lack groups, so that a small one could be worked out all the same, all rows of the kind are. Here they all are.
-- Source: marts.attendance_student_semester, marts.grade_student_semester, core.dim_student.
{#- The students who enter the figures of a group. -#}
{%- set counts = ['students', 'recorded_students', 'counted_students', 'score_clusters', 'pass_clusters'] %}
{#- Measures that are shares of counts: part, whole, the students who have some of it, design effect. -#}
{%- set shares = {
    'attendance': ('present', 'recorded', 'attendance_clusters', 'attendance_effect'),
    'chronic': ('chronic_students', 'recorded_students', 'recorded_students', '1'),
    'pass': ('passed_courses', 'decided_courses', 'pass_clusters', 'pass_effect')
} %}
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

minimums as (
    select school_id, value as minimum
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'comparison_minimum_grades'
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
        grades.passed_courses,
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
        count(*) filter (where counted_courses > 0) as counted_students,
        count(*) filter (where is_chronic) as chronic_students,
        sum(score_sum) as score_sum,
        sum(full_score_sum) as full_score_sum,
        coalesce(cast(sum(counted_courses) as bigint), 0) as counted_courses,
        coalesce(cast(sum(passed_courses) as bigint), 0) as passed_courses,
        coalesce(cast(sum(failed_courses) as bigint), 0) as failed_courses,
        {{ cluster_sums('attendance', 'present', 'recorded') }},
        {{ cluster_sums('pass', 'passed_courses', 'passed_courses + failed_courses') }},
        {{ cluster_sums('score', 'score_sum', 'full_score_sum') }}
    from grouped
    group by grouping sets (
        (school_id, semester_id, group_type, group_code),
        (school_id, semester_id, cohort_id, group_type, group_code)
    )
),

sized as (
    select
        sums.*,
        sums.passed_courses + sums.failed_courses as decided_courses,
        thresholds.small_group,
        {{ is_few(counts, 'thresholds.small_group') }} as is_small
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
            and (row_number() over in_whole <= 2 or {{ is_few_before(counts, 'small_group', 'in_whole') }})
        ) as is_hidden
    from sized
    where
        is_school
        or group_type = 'all'
    window in_whole as (
        partition by school_id, semester_id, is_school, group_type
        order by is_small desc, students, group_code, cohort_id
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
        {{ is_few_before(counts, 'sized.small_group', 'of_group') }} as is_too_few
    from sized
    inner join kinds
        on kinds.school_id = sized.school_id
        and kinds.semester_id = sized.semester_id
        and kinds.group_type = sized.group_type
        and kinds.cohort_id is not distinct from sized.cohort_id
    where not sized.is_school
    window of_group as (
        partition by sized.school_id, sized.semester_id, sized.group_type, sized.group_code order by kinds.place
    )
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
            bool_or(is_too_few) as is_too_few
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

beside_others as (
    select
        *,
        {{ design_effect('attendance', 'present', 'recorded', 'of_kind') }} as attendance_effect,
        {{ design_effect('pass', 'passed_courses', 'decided_courses', 'of_kind') }} as pass_effect,
        {%- for share, (part, whole, clusters, effect) in shares.items() %}
        sum({{ part }}) over of_kind - {{ part }} as other_{{ share }}_part,
        sum({{ whole }}) over of_kind - {{ whole }} as other_{{ share }}_whole,
        least({{ clusters }}, sum({{ clusters }}) over of_kind - {{ clusters }}) as {{ share }}_least,
        {{ rate_difference(part, whole, 'other_' ~ share ~ '_part', 'other_' ~ share ~ '_whole') }} as {{ share }}_difference,
        {{ share_error(part, whole, 'other_' ~ share ~ '_part', 'other_' ~ share ~ '_whole', effect) }} as {{ share }}_error,
        {%- endfor %}
        {%- for column in (
            'score_sum', 'full_score_sum', 'score_clusters', 'score_part_squares', 'score_products', 'score_whole_squares'
        ) %}
        sum({{ column }}) over of_kind - {{ column }} as other_{{ column }},
        {%- endfor %}
        least(score_clusters, other_score_clusters) as score_least,
        {{ rate_difference('score_sum', 'full_score_sum', 'other_score_sum', 'other_full_score_sum') }} as score_difference,
        10000 * {{ ratio_variance('score', 'score_sum', 'full_score_sum') }} as score_variance,
        sqrt(score_variance + 10000 * {{ ratio_variance('other_score', 'other_score_sum', 'other_full_score_sum') }}) as score_error
    from ranked
    window of_kind as (partition by school_id, semester_id, is_school, cohort_id, group_type)
),

judged as (
    select
        *,
        {%- for measure in ('attendance', 'chronic', 'pass', 'score') %}
        {{ reliability(measure ~ '_error', between_variance(measure ~ '_difference', measure ~ '_error', 'of_kind')) }}
            as {{ measure }}_reliability{{ ',' if not loop.last }}
        {%- endfor %}
    from beside_others
    window of_kind as (partition by school_id, semester_id, is_school, cohort_id, group_type)
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
    judged.school_id,
    judged.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    judged.is_school,
    judged.cohort_id,
    case when not judged.is_school then judged.cohort_name end as cohort_name,
    judged.group_type,
    judged.group_code,
    {{ in_words('group', 'judged.group_code') }},
    'all' as population,
    coalesce(judged.is_hidden, true) or open_kinds.school_id is not null as is_suppressed,
    {{ if_loaded(['attendance_records', 'grades'], 'judged.students') }} as students,
    {{ if_loaded(['attendance_records'], 'judged.recorded_students') }} as recorded_students,
    {{ if_loaded(['attendance_records'], 'judged.recorded') }} as recorded,
    {{ if_loaded(['attendance_records'], 'judged.present') }} as present,
    {{ if_loaded(['attendance_records'], 'judged.absent') }} as absent,
    {{ if_loaded(['attendance_records'], 'judged.unexcused') }} as unexcused,
    {{ if_loaded(['attendance_records'], 'judged.late') }} as late,
    {{ rate('judged.present', 'judged.recorded') }} as attendance_rate,
    {%- for end in ('low', 'high') %}
    {{ wilson_limit('(judged.present / judged.attendance_effect)', '(judged.recorded / judged.attendance_effect)', end) }} as attendance_rate_{{ end }},
    {%- endfor %}
    case
        when not is_suppressed
            then {{ verdict(
                'judged.attendance_difference', 'judged.attendance_error', 'judged.attendance_reliability', 'judged.attendance_least', 'minimums.minimum'
            ) }}
    end as attendance_verdict,
    {{ rate('judged.unexcused', 'judged.recorded') }} as unexcused_rate,
    {{ rate('judged.late', 'judged.present') }} as lateness_rate,
    {{ if_loaded(['attendance_records'], 'judged.chronic_students') }} as chronic_students,
    {{ rate('judged.chronic_students', 'judged.recorded_students') }} as chronic_rate,
    {%- for end in ('low', 'high') %}
    {{ wilson_limit('(judged.chronic_students)', '(judged.recorded_students)', end) }} as chronic_rate_{{ end }},
    {%- endfor %}
    case
        when not is_suppressed
            then {{ verdict(
                'judged.chronic_difference', 'judged.chronic_error', 'judged.chronic_reliability', 'judged.chronic_least', 'minimums.minimum'
            ) }}
    end as chronic_verdict,
    cast(judged.score_sum as decimal(38, 6)) as score_sum,
    cast(judged.full_score_sum as decimal(38, 6)) as full_score_sum,
    {{ percent('judged.score_sum', 'judged.full_score_sum', places=2) }} as score_rate,
    {%- for end in ('low', 'high') %}
    {{ t_limit(
        '100 * cast(judged.score_sum as double) / nullif(judged.full_score_sum, 0)', 'judged.score_variance',
        'judged.score_clusters - 1', end, places=2
    ) }} as score_rate_{{ end }},
    {%- endfor %}
    case
        when not is_suppressed
            then {{ verdict(
                'judged.score_difference', 'judged.score_error', 'judged.score_reliability', 'judged.score_least', 'minimums.minimum'
            ) }}
    end as score_verdict,
    {{ if_loaded(['grades'], 'judged.counted_courses') }} as counted_courses,
    {{ if_loaded(['grades'], 'judged.failed_courses') }} as failed_courses,
    {{ rate('judged.passed_courses', 'judged.decided_courses') }} as pass_rate,
    {%- for end in ('low', 'high') %}
    {{ wilson_limit('(judged.passed_courses / judged.pass_effect)', '(judged.decided_courses / judged.pass_effect)', end) }} as pass_rate_{{ end }},
    {%- endfor %}
    case
        when not is_suppressed
            then {{ verdict(
                'judged.pass_difference', 'judged.pass_error', 'judged.pass_reliability', 'judged.pass_least', 'minimums.minimum'
            ) }}
    end as pass_verdict
from judged
left join semesters
    on semesters.school_id = judged.school_id
    and semesters.semester_id = judged.semester_id
left join minimums
    on minimums.school_id = judged.school_id
left join open_kinds
    on open_kinds.school_id = judged.school_id
    and open_kinds.semester_id = judged.semester_id
    and open_kinds.group_type = judged.group_type
where
    judged.is_school
    or not coalesce(list_contains(semesters.never_loaded, 'students'), false)
