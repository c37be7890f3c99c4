-- Grain: school, semester, kind of group (course_class, subject, teacher, school), group of items with scores.
-- Rules: lag: the time from an item's last score to its publication; 0 if the item was published before. An item that is
--     not published waits, up to the last change of any score in the school.
--   late: the lag or the wait exceeds publication_late_days (seeds.grade_thresholds). late_rate = 100 * late / items.
--   Medians and 90th percentiles are of published items, interpolated.
--   The teacher of an item gave its scores. Items of several teachers form the group with the key '', and so do items
--     without a subject.
-- Source: core.fct_assessment_item and dimensions.
{%- set groups = {'course_class': 'course_class_id', 'subject': 'subject_id', 'teacher': 'evaluator_id'} %}
with thresholds as (
    select school_id, value as late_days
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'publication_late_days'
),

scored as (
    select
        *,
        max(last_changed_at) over (partition by school_id) as as_of
    from {{ ref('fct_assessment_item') }}
    where
        last_scored_at is not null
        and semester_id is not null
),

items as (
    select
        scored.*,
        nullif(concat_ws(' ', classes.course_name, classes.class_name), '') as course_class_name,
        classes.subject_id,
        classes.subject_name,
        teachers.teacher_name,
        thresholds.late_days,
        -- Null for a waiting item if no score has a time of change; greatest() alone would give 0.
        case
            when coalesce(scored.published_at, scored.as_of) is not null
                then cast(
                    greatest(epoch(coalesce(scored.published_at, scored.as_of) - scored.last_scored_at), 0) as bigint
                )
        end as seconds
    from scored
    left join thresholds
        on thresholds.school_id = scored.school_id
    left join {{ ref('dim_course_class') }} as classes
        on classes.school_id = scored.school_id
        and classes.course_class_id = scored.course_class_id
    left join {{ ref('dim_teacher') }} as teachers
        on teachers.school_id = scored.school_id
        and teachers.teacher_id = scored.evaluator_id
),

lags as (
    select
        school_id,
        semester_id,
        {{ group_type(groups) }} as group_type,
        {{ group_key(groups) }} as group_key,
        any_value(course_class_name) as course_class_name,
        any_value(subject_name) as subject_name,
        any_value(teacher_name) as teacher_name,
        count(*) as items,
        count(published_at) as published_items,
        count(*) filter (where published_at is null) as waiting_items,
        count(*) filter (where seconds > 86400 * late_days) as late_items,
        -- In tenths of seconds, which are whole numbers: the quantiles lie at tenths between two lags.
        list_transform(
            quantile_cont(seconds, [0.5, 0.9]) filter (where published_at is not null),
            lambda second: cast(round(10 * second) as bigint)
        ) as quantiles,
        max(seconds) filter (where published_at is not null) as longest_lag,
        max(seconds) filter (where published_at is null) as longest_wait,
        any_value(late_days) as late_days
    from items
    group by {{ group_sets(groups) }}
)

select
    lags.school_id,
    lags.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    lags.group_type,
    lags.group_key,
    case lags.group_type
        when 'course_class' then lags.course_class_name
        when 'subject' then lags.subject_name
        when 'teacher' then lags.teacher_name
        else schools.school_name
    end as group_name,
    lags.items,
    lags.published_items,
    lags.waiting_items,
    lags.late_days,
    lags.late_items,
    {{ rate('lags.late_items', 'lags.items') }} as late_rate,
    {{ ratio('lags.quantiles[1]', '864000', places=2) }} as median_lag_days,
    {{ ratio('lags.quantiles[2]', '864000', places=2) }} as p90_lag_days,
    {{ ratio('lags.longest_lag', '86400', places=2) }} as longest_lag_days,
    {{ ratio('lags.longest_wait', '86400', places=2) }} as longest_wait_days
from lags
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = lags.school_id
    and semesters.semester_id = lags.semester_id
left join {{ ref('dim_school') }} as schools
    on schools.school_id = lags.school_id
