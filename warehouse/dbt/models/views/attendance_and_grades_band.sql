-- Grain: school, semester, tier of attendance with students, band of grades; the last band are students without a score.
-- Rules: a share is null where the inputs of tiers or bands were never loaded.
with cells as (
    select * from {{ ref('attendance_and_grades') }}
),

tiers as (
    select
        school_id,
        semester_id,
        semester_name,
        tier,
        students_of_tier,
        cast(sum(recorded) as bigint) as recorded,
        cast(sum(present) as bigint) as present,
        sum(score_sum) as score_sum,
        sum(full_score_sum) as full_score_sum,
        bool_or(band = 'unknown' or tier = 'unknown') as is_unknown
    from cells
    group by all
),

bands as (
    select
        bands.school_id,
        bands.band as band_code,
        {{ band_name('bands') }} as band,
        coalesce(-bands.lower_percent, 100) as band_order
    from {{ ref('stg_grade_bands') }} as bands
    union all
    select school_id, 'unscored', 'unscored', 101 from {{ ref('dim_school') }}
)

select
    tiers.school_id,
    tiers.semester_id,
    tiers.semester_name,
    semesters.is_shown,
    tiers.tier,
    limits.upper_percent as tier_order,
    tiers.students_of_tier,
    {{ rate('tiers.present', 'tiers.recorded') }} as attendance_rate,
    {{ percent('tiers.score_sum', 'tiers.full_score_sum', places=2) }} as score_rate,
    bands.band,
    bands.band_order,
    coalesce(cells.percent_of_tier, case when not tiers.is_unknown then 0 end) as percent_of_tier
from tiers
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
inner join bands on bands.school_id = tiers.school_id
left join {{ ref('stg_attendance_tiers') }} as limits
    on limits.school_id = tiers.school_id
    and limits.tier = tiers.tier
left join cells
    on cells.school_id = tiers.school_id
    and cells.semester_id = tiers.semester_id
    and cells.tier = tiers.tier
    and cells.band = bands.band_code
