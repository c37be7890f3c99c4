-- Grain: school, semester, group of students (the school or a cohort), band.
select
    bands.school_id,
    bands.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    bands.band as band_code,
    bands.lower_percent,
    {{ band_name('bands') }} as band,
    bands.group_type || ' ' || bands.group_key as group_code,
    case bands.group_type when 'school' then 'Whole school' else coalesce(bands.group_name, 'Not known') end as group_code_en,
    case bands.group_type when 'school' then '全校' else coalesce(bands.group_name, '未知') end as group_code_zh,
    dense_rank() over (
        partition by bands.school_id
        order by bands.group_type desc, bands.group_name, bands.group_key
    ) as group_code_order,
    bands.grades,
    bands.percent
from {{ ref('grade_distribution_band') }} as bands
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
where bands.group_type in ('school', 'cohort')
