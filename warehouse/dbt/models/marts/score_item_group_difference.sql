-- Grain: school, semester, course name, item by its path and full score, kind of groups (gender, boarding).
-- Rules: differential item functioning: whether students of two groups with the same total do alike on an item. Items
--   of the same course name, path and full score are taken for the same in all classes of the semester; students are
--   compared within a class alone, so that the classes need not have the same paper or marker.
--   Students: complete ones of marts.score_item_analysis, of the groups group_code and other_group_code. Strata: the
--   assessment, and the fifth of its complete students by total that the student is in; who ties is in the same.
--   Success: a score of at least the item's mean in the class; of an item that is right or wrong: right.
--   odds_ratio: of success, group_code to other_group_code, by Mantel and Haenszel over the strata; above 1: easier for
--   group_code than for others of the same total. Its 95% interval is by Robins, Breslow and Greenland.
--   mh_delta = 2.35 * ln(odds_ratio); ets_class: A (negligible): |mh_delta| < 1 or the interval holds 1; C (large):
--   |mh_delta| >= 1.5, and above 1 at 5%; B: otherwise.
--   Null with fewer than label_minimum_students (seeds.grade_thresholds) in either group. is_suppressed: fewer than
--   small_group_students (seeds.attendance_thresholds) of a group are there, or in strata with some of both groups, which
--   alone enter the ratio: exported files show no numbers of the row.
-- Known: a difference is no proof of an unfair item, and fifths match totals only roughly, so that groups of different
--   ability look different on an item that discriminates well. Of many items, one in twenty is B or C by chance alone.
-- Source: marts.score_item_analysis, core.fct_item_score, core.dim_assessment_item, core.dim_student.
with items as (
    select
        items.*,
        concat_ws(' / ', tree.level_1_name, tree.level_2_name, tree.level_3_name) as item_path
    from {{ ref('score_item_analysis') }} as items
    inner join {{ ref('dim_assessment_item') }} as tree
        on tree.school_id = items.school_id
        and tree.assessment_item_id = items.assessment_item_id
    where
        items.is_in_test
        and items.semester_id is not null
        and items.course_name is not null
),

thresholds as (
    select school_id, value as minimum_students
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'label_minimum_students'
),

small_groups as (
    select school_id, value as small_group
    from {{ ref('stg_attendance_thresholds') }}
    where threshold = 'small_group_students'
),

scores as (
    select
        scores.school_id,
        scores.assessment_id,
        scores.assessment_item_id,
        scores.student_id,
        scores.score,
        items.test_items,
        items.complete_students,
        count(*) over of_student as scored_items,
        sum(scores.score) over of_student as total
    from {{ ref('fct_item_score') }} as scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    where
        scores.is_valid
        and scores.score is not null
    window of_student as (partition by scores.school_id, scores.assessment_id, scores.student_id)
),

complete as (
    select
        *,
        5 * (rank() over (of_item order by total) - 1) // complete_students as fifth,
        score * count(*) over of_item >= sum(score) over of_item as is_success
    from scores
    where scored_items = test_items
    window of_item as (partition by school_id, assessment_item_id)
),

grouped as (
    select
        complete.*,
        unnest(
            [
                {'group_type': 'gender', 'is_group': case students.gender when 'f' then true when 'm' then false end},
                {'group_type': 'boarding', 'is_group': students.is_boarding}
            ],
            recursive := true
        )
    from complete
    inner join {{ ref('dim_student') }} as students
        on students.school_id = complete.school_id
        and students.student_id = complete.student_id
),

strata as (
    select
        school_id,
        assessment_item_id,
        group_type,
        count(*) filter (where is_group) as students,
        count(*) filter (where not is_group) as other_students,
        students + other_students as size,
        count(*) filter (where is_group and is_success) as group_successes,
        students - group_successes as group_failures,
        count(*) filter (where not is_group and is_success) as other_successes,
        other_students - other_successes as other_failures,
        -- The cross products of the stratum, and the shares of it that are on either diagonal.
        group_successes * other_failures / size as for_group,
        group_failures * other_successes / size as for_others,
        (group_successes + other_failures) / size as share_for_group,
        (group_failures + other_successes) / size as share_for_others
    from grouped
    where is_group is not null
    group by school_id, assessment_item_id, group_type, fifth
),

pooled as (
    select
        strata.school_id,
        items.semester_id,
        items.course_name,
        items.item_path,
        items.full_score,
        strata.group_type,
        any_value(items.school_name) as school_name,
        any_value(items.semester_name) as semester_name,
        any_value(items.is_current) as is_current,
        bool_or(items.is_examination) as is_examination,
        count(distinct items.assessment_id) as classes,
        cast(sum(strata.students) as bigint) as students,
        cast(sum(strata.other_students) as bigint) as other_students,
        coalesce(sum(strata.students) filter (where strata.other_students > 0), 0) as compared,
        coalesce(sum(strata.other_students) filter (where strata.students > 0), 0) as other_compared,
        sum(for_group) as r,
        sum(for_others) as s,
        sum(share_for_group * for_group) / nullif(2 * r * r, 0)
        + sum(share_for_group * for_others + share_for_others * for_group) / nullif(2 * r * s, 0)
        + sum(share_for_others * for_others) / nullif(2 * s * s, 0) as variance
    from strata
    inner join items
        on items.school_id = strata.school_id
        and items.assessment_item_id = strata.assessment_item_id
    group by
        strata.school_id, items.semester_id, items.course_name, items.item_path, items.full_score, strata.group_type
    having
        sum(strata.students) > 0
        and sum(strata.other_students) > 0
),

judged as (
    select
        pooled.*,
        case
            when least(pooled.students, pooled.other_students) >= thresholds.minimum_students
                then ln(nullif(pooled.r, 0) / nullif(pooled.s, 0))
        end as log_odds,
        sqrt(pooled.variance) as error,
        coalesce(
            {{ is_few(
                ['pooled.students', 'pooled.other_students', 'pooled.compared', 'pooled.other_compared'],
                'small_groups.small_group'
            ) }},
            true
        ) as is_suppressed,
        2.35 * log_odds as delta
    from pooled
    left join thresholds
        on thresholds.school_id = pooled.school_id
    left join small_groups
        on small_groups.school_id = pooled.school_id
)

select
    school_id,
    semester_id,
    school_name,
    semester_name,
    is_current,
    course_name,
    item_path,
    full_score,
    is_examination,
    classes,
    group_type,
    if(group_type = 'gender', 'f', 'boarding') as group_code,
    if(group_type = 'gender', 'm', 'day') as other_group_code,
    'all' as population,
    is_suppressed,
    students,
    other_students,
    {{ rounded('exp(log_odds)', digits=18) }} as odds_ratio,
    {{ rounded('exp(log_odds - 1.959964 * error)', digits=18) }} as odds_ratio_low,
    {{ rounded('exp(log_odds + 1.959964 * error)', digits=18) }} as odds_ratio_high,
    {{ rounded('delta') }} as mh_delta,
    case
        when abs(delta) < 1 or abs(log_odds) <= 1.959964 * error then 'A'
        when abs(delta) >= 1.5 and abs(delta) - 1.644854 * 2.35 * error > 1 then 'C'
        when delta is not null then 'B'
    end as ets_class
from judged
