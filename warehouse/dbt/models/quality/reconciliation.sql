-- Grain: school, measure, subject. A subject is a slice of the lake (measure rows), a semester (counts of figures), or a
--   single figure that disagrees.
-- Rules: expected is the platform's figure, actual is ours. Both agree if they differ by no more than the tolerance of
--     the measure (seeds.reconciliation_rules).
--   Rows without a key count all figures. A row with a key is a figure that disagrees.
--   A figure is not compared (agrees null, counted as unknown) for one of these reasons:
--     no_total     the platform does not say how many rows the slice has
--     no_figure    the platform has no figure, or we have no rows to make ours of
--     no_rule      no rule reproduces the platform's figures (core.fct_grade_by_items)
--     other_rule   so few of the school's figures agree that its platform must use another rule, such as another scale
--                  of GPA
--     quarantine   both disagree, and rows that our figure needs are in quarantine
--     changing     both disagree, and the row was updated while the load ran
--     exempt       seeds.reconciliation_rules leaves the measure out
--   Measures:
--     rows                         live rows by the platform's count when the slice was last read, and live rows of raw
--     attendance_                  the statistics of a session, and its records. Late includes left early. Absent may
--                                  include absence from duty, members without a record, or both: the sum that agrees
--                                  with most of the school's sessions is used
--     grade_rank, grade_rank_base  the rank in the class and the number ranked, and ours among the same students
--     real_score                   the platform's real_score, and the score if given, else the suggested score
--     suggest_score                the suggested score, and the score that its items make
--     transcript_                  the platform's figures, and those of the transcript's courses (marts.transcript_gpa)
-- Source: quality.stated_counts, quality.slices, core and marts.
with rules as (
    select * from {{ ref('stg_reconciliation_rules') }}
),

calendars as (
    select * from {{ ref('stg_semester_calendars') }}
),

recorded as (
    select
        *,
        [
            marked_absent,
            marked_absent + marked_off_duty,
            marked_absent + coalesce(unrecorded_members, 0),
            marked_absent + marked_off_duty + coalesce(unrecorded_members, 0)
        ] as readings_of_absent
    from {{ ref('fct_class_session') }}
    where coalesce(platform_normal, platform_late, platform_absent) is not null
),

-- The interface does not define absent. The sum that agrees with most of a school's sessions is used.
absences as (
    select
        school_id,
        [
            {%- for reading in range(1, 5) %}
            count(*) filter (where platform_absent = readings_of_absent[{{ reading }}]){{ ',' if not loop.last }}
            {%- endfor %}
        ] as agreeing,
        list_position(agreeing, list_max(agreeing)) as reading
    from recorded
    group by school_id
),

sessions as (
    select
        recorded.*,
        recorded.readings_of_absent[absences.reading] as counted_absent
    from recorded
    inner join absences using (school_id)
),

transcript_semesters as (
    select
        semesters.school_id,
        semesters.semester_id,
        people.person_id as student_id,
        any_value(semesters.platform_credits) as platform_credits,
        any_value(semesters.platform_gained_credits) as platform_gained_credits
    from {{ ref('stg_transcript_semesters') }} as semesters
    inner join {{ ref('bridge_v1_person') }} as people
        on people.school_id = semesters.school_id
        and people.v1_person_id = semesters.v1_student_id
    group by semesters.school_id, semesters.semester_id, people.person_id
),

transcripts as (
    select
        gpas.*,
        platform.platform_credits,
        platform.platform_gained_credits
    from {{ ref('transcript_gpa') }} as gpas
    left join transcript_semesters as platform
        on platform.school_id = gpas.school_id
        and platform.semester_id = gpas.semester_id
        and platform.student_id = gpas.student_id
),

item_counts as (
    select school_id, assessment_id, count(*) as items
    from {{ ref('dim_assessment_item') }}
    where not is_deleted
    group by school_id, assessment_id
),

-- Ranks the students whom the platform ranks. Students with the same score share the better rank.
ranked as (
    select
        school_id,
        semester_id,
        grade_id,
        rank as platform_rank,
        rank_base as platform_rank_base,
        rank() over (partition by school_id, assessment_id order by real_score desc) as own_rank,
        count(*) over (partition by school_id, assessment_id) as own_rank_base
    from {{ ref('fct_grade') }}
    where
        source = 'class'
        and rank is not null
        and real_score is not null
),

-- agrees: null if the tolerance decides; depends_on: the table whose quarantined rows our figure may lack.
figures as (
    select
        assessments.school_id,
        assessments.semester_id,
        'assessment_items' as measure,
        'assessments' as resource,
        cast(assessments.assessment_id as varchar) as key,
        assessments.item_count as expected,
        coalesce(item_counts.items, 0) as actual,
        cast(null as boolean) as agrees,
        cast(null as varchar) as reason,
        'assessment_items' as depends_on,
        cast(null as integer) as week
    from {{ ref('dim_assessment') }} as assessments
    left join item_counts
        on item_counts.school_id = assessments.school_id
        and item_counts.assessment_id = assessments.assessment_id
    where not assessments.is_deleted

    union all by name

    select
        school_id,
        'admin_class_students' as measure,
        'admin_classes' as resource,
        cast(admin_class_id as varchar) as key,
        student_count as expected,
        nullif(list_unique(student_ids), 0) as actual
    from {{ ref('stg_admin_classes') }}
    where
        not is_deleted
        and student_count > 0

    {%- for figure, ours in {'normal': 'marked_normal', 'late': 'marked_late', 'absent': 'counted_absent'}.items() %}

    union all by name

    select
        school_id,
        semester_id,
        'attendance_{{ figure }}' as measure,
        'attendance_sessions' as resource,
        concat_ws('/', course_class_id, date, lesson) as key,
        platform_{{ figure }} as expected,
        {{ ours }} as actual,
        'attendance_records' as depends_on,
        week
    from sessions
    {%- endfor %}

    union all by name

    select
        school_id,
        semester_id,
        'attendance_rate' as measure,
        'attendance_sessions' as resource,
        concat_ws('/', course_class_id, date, lesson) as key,
        platform_attendance_rate as expected,
        {{ rate('(marked_normal + marked_late)', '(marked_normal + marked_late + counted_absent)') }} as actual,
        'attendance_records' as depends_on,
        week
    from sessions

    union all by name

    select
        school_id,
        semester_id,
        'real_score' as measure,
        'grades' as resource,
        cast(grade_id as varchar) as key,
        platform_real_score as expected,
        real_score as actual,
        platform_real_score is not distinct from real_score as agrees
    from {{ ref('fct_grade') }}
    where coalesce(platform_real_score, real_score) is not null
    {%- for figure in ('rank', 'rank_base') %}

    union all by name

    select
        school_id,
        semester_id,
        'grade_{{ figure }}' as measure,
        'grades' as resource,
        cast(grade_id as varchar) as key,
        platform_{{ figure }} as expected,
        own_{{ figure }} as actual
    from ranked
    {%- endfor %}

    union all by name

    select
        school_id,
        semester_id,
        'suggest_score' as measure,
        'grades' as resource,
        cast(grade_id as varchar) as key,
        suggest_score as expected,
        score_by_items as actual,
        is_as_suggested
            or coalesce(abs(suggest_score - score_by_items) <= rules.tolerance, false) as agrees,
        case
            when suggest_score is null then 'no_figure'
            when rule is null then 'no_rule'
            when not is_as_suggested and not is_whole then 'no_figure'
            when not is_as_suggested and was_changing then 'changing'
        end as reason,
        'scores' as depends_on
    from {{ ref('fct_grade_by_items') }} as grades
    left join rules using (school_id)
    where
        rules.measure = 'suggest_score'
        and (suggest_score is not null or scored_items > 0)

    {%- set gpas = {
        'transcript_gpa': ('platform_gpa', 'gpa', 'gpa_agrees', 'true'),
        'transcript_cumulative_gpa':
            ('platform_cumulative_gpa', 'cumulative_gpa', 'cumulative_gpa_agrees', 'is_last'),
        'transcript_credits': ('platform_credits', 'credits', 'cast(null as boolean)', 'true'),
        'transcript_gained_credits':
            ('platform_gained_credits', 'gained_credits', 'cast(null as boolean)', 'true')
    } %}
    {%- for measure, (theirs, ours, agrees, where) in gpas.items() %}

    union all by name

    select
        school_id,
        semester_id,
        '{{ measure }}' as measure,
        'transcripts' as resource,
        cast(student_id as varchar) as key,
        {{ theirs }} as expected,
        {{ ours }} as actual,
        {{ agrees }} as agrees,
        'transcript_courses' as depends_on
    from transcripts
    where {{ where }}
    {%- endfor %}
),

-- Slices of v1 have v1's ids of semesters.
quarantined as (
    select distinct
        held._school_id as school_id,
        held.resource,
        coalesce(calendars.semester_id, try_cast(split_part(held.slice, ':', 2) as bigint)) as semester_id,
        try_cast(nullif(split_part(held.slice, ':', 3), '') as integer) as week
    from {{ source('quality', 'quarantine') }} as held
    left join calendars
        on starts_with(held.resource, 'attendance_')
        and calendars.school_id = held._school_id
        and calendars.v1_semester_id = try_cast(split_part(held.slice, ':', 2) as bigint)
),

judged as (
    select
        figures.* replace (
            cast(figures.expected as decimal(18, 6)) as expected,
            cast(figures.actual as decimal(18, 6)) as actual,
            coalesce(figures.agrees, abs(figures.expected - figures.actual) <= rules.tolerance, false) as agrees
        ),
        rules.other_rule_percent,
        rules.other_rule_minimum,
        case
            when not rules.is_compared then 'exempt'
            when figures.reason is not null then figures.reason
            when figures.agrees is null and (figures.expected is null or figures.actual is null) then 'no_figure'
        end as known_reason
    from figures
    inner join rules
        on rules.school_id = figures.school_id
        and rules.measure = figures.measure
),

reasoned as (
    select
        judged.* exclude (reason, known_reason),
        case
            when judged.known_reason is not null then judged.known_reason
            when not judged.agrees and quarantined.school_id is not null then 'quarantine'
        end as reason
    from judged
    left join quarantined
        on not judged.agrees
        and quarantined.school_id = judged.school_id
        and quarantined.resource = judged.depends_on
        and coalesce(quarantined.semester_id = judged.semester_id, true)
        and coalesce(quarantined.week = judged.week, true)
),

shares as (
    select
        school_id,
        measure,
        count(*) filter (where reason is null) >= any_value(other_rule_minimum)
            and 100 * count(*) filter (where reason is null and agrees)
            < any_value(other_rule_percent) * count(*) filter (where reason is null) as is_other_rule
    from reasoned
    group by school_id, measure
),

compared as (
    select
        reasoned.*
            replace (case when shares.is_other_rule then coalesce(reason, 'other_rule') else reason end as reason)
    from reasoned
    inner join shares using (school_id, measure)
),

slices as (
    select
        coalesce(stated._school_id, held._school_id) as school_id,
        coalesce(stated.resource, held.resource) as resource,
        coalesce(stated.slice, held.slice) as slice,
        stated.expected,
        coalesce(held.alive, 0) as actual,
        stated.seen_at,
        case
            when coalesce(stated.resource, held.resource) not like 'datasets.%'
                and coalesce(stated.resource, held.resource) not like 'report%'
                then try_cast(nullif(split_part(coalesce(stated.slice, held.slice), ':', 2), '') as bigint)
        end as sliced_by_semester
    from (
        select *
        from {{ source('quality', 'stated_counts') }}
        where measure = 'rows alive by the platform''s own count'
    ) as stated
    full join {{ source('quality', 'slices') }} as held
        on held._school_id = stated._school_id
        and held.resource = stated.resource
        and held.slice = stated.slice
),

slices_compared as (
    select
        slices.school_id,
        coalesce(calendars.semester_id, slices.sliced_by_semester) as semester_id,
        slices.resource,
        slices.slice,
        slices.expected,
        slices.actual,
        slices.seen_at,
        case
            when not coalesce(rules.is_compared, true) then 'exempt'
            when slices.expected is null then 'no_total'
        end as reason,
        abs(slices.expected - slices.actual) <= coalesce(rules.tolerance, 0) as agrees
    from slices
    left join rules
        on rules.school_id = slices.school_id
        and rules.measure = 'rows'
    left join calendars
        on regexp_matches(slices.resource, '^(v1|timetable|attendance)_')
        and calendars.school_id = slices.school_id
        and calendars.v1_semester_id = slices.sliced_by_semester
)

select
    school_id as _school_id,
    semester_id,
    'rows' as measure,
    resource,
    slice,
    cast(null as varchar) as key,
    cast(expected as decimal(18, 6)) as expected,
    cast(actual as decimal(18, 6)) as actual,
    cast(actual - expected as decimal(18, 6)) as difference,
    case when reason is null then agrees end as agrees,
    reason,
    cast(reason is null as bigint) as compared,
    cast(reason is null and not agrees as bigint) as disagreeing,
    cast(reason is not null as bigint) as unknown,
    seen_at
from slices_compared

union all by name

select
    school_id as _school_id,
    semester_id,
    measure,
    min(resource) as resource,
    case when count(*) filter (where reason is null) > 0 then bool_and(agrees) filter (where reason is null) end
        as agrees,
    min(reason) as reason,
    count(*) filter (where reason is null) as compared,
    count(*) filter (where reason is null and not agrees) as disagreeing,
    count(*) filter (where reason is not null) as unknown
from compared
group by school_id, semester_id, measure

union all by name

select
    school_id as _school_id,
    semester_id,
    measure,
    resource,
    key,
    expected,
    actual,
    cast(actual - expected as decimal(18, 6)) as difference,
    agrees
from compared
where
    reason is null
    and not agrees
