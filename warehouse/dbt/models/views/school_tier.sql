-- Grain: school, one or several neighbouring tiers of attendance that together have enough students; the lowest tier first.
-- Rules: of the students of views.attendance_tier in the semesters that are shown. A tier of few students is joined with the
--   next better tier that has students until they are enough; the best, with the next worse. A page that tells the number of
--   all students of a school tells no more, since each student is in a row. A school of few students has no row.
with recursive tiers as (
    select
        school_id,
        tier,
        tier_order,
        cast(sum(tier_students) as bigint) as students,
        row_number() over (partition by school_id order by tier_order) as tier_number
    from {{ ref('attendance_tier') }}
    where is_school and is_shown
    group by school_id, tier, tier_order
    having sum(tier_students) > 0
),

joined as (
    select
        *,
        1 as row_of_school,
        students as students_so_far
    from tiers
    where tier_number = 1
    union all
    select
        tiers.*,
        joined.row_of_school + cast(joined.students_so_far >= {{ var('small_group') }} as integer) as row_of_school,
        tiers.students
        + case when joined.students_so_far < {{ var('small_group') }} then joined.students_so_far else 0 end as students_so_far
    from joined
    inner join tiers
        on tiers.school_id = joined.school_id
        and tiers.tier_number = joined.tier_number + 1
),

-- The best tiers, of few students together, are in the row before them.
in_rows as (
    select
        * replace (
            least(
                row_of_school,
                max(row_of_school) filter (where students_so_far >= {{ var('small_group') }}) over (partition by school_id)
            ) as row_of_school
        )
    from joined
)

select
    school_id,
    min_by(tier, tier_order) as tier,
    max_by(tier, tier_order) as last_tier,
    min(tier_order) as tier_order,
    cast(sum(students) as bigint) as students
from in_rows
group by school_id, row_of_school
having sum(students) >= {{ var('small_group') }}
