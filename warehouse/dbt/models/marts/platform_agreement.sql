-- Grain: school, semester (null: the school as a whole), measure: the platform's figures and ours.
-- Rules: sums of quality.reconciliation, which has a row for each figure that disagrees. agreement_rate =
--   100 * agreeing / compared. unknown: figures that could not be compared. reason: why none was compared.
--   greatest_difference: ours minus the platform's, of the figure that is furthest off.
-- Source: quality.reconciliation.
with figures as (
    select * from {{ ref('reconciliation') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

schools as (
    select * from {{ ref('dim_school') }}
),

sums as (
    select
        _school_id as school_id,
        semester_id,
        measure,
        cast(coalesce(sum(compared), 0) as bigint) as compared,
        cast(coalesce(sum(disagreeing), 0) as bigint) as disagreeing,
        cast(coalesce(sum(unknown), 0) as bigint) as unknown,
        min(reason) filter (where compared = 0) as reason,
        arg_max(difference, abs(difference)) filter (where not agrees) as greatest_difference
    from figures
    group by _school_id, semester_id, measure
)

select
    sums.school_id,
    sums.semester_id,
    schools.school_name,
    semesters.semester_name,
    coalesce(semesters.is_current, false) as is_current,
    sums.measure,
    {{ in_words('measure', 'sums.measure') }},
    sums.compared,
    cast(sums.compared - sums.disagreeing as bigint) as agreeing,
    sums.disagreeing,
    {{ rate('(sums.compared - sums.disagreeing)', 'sums.compared') }} as agreement_rate,
    sums.unknown,
    case when sums.compared = 0 then sums.reason end as reason,
    sums.greatest_difference
from sums
left join schools
    on schools.school_id = sums.school_id
left join semesters
    on semesters.school_id = sums.school_id
    and semesters.semester_id = sums.semester_id
