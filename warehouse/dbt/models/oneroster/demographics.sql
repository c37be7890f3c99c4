-- Grain: school, live student whose gender is known.
-- Rules: gender is all that core has; the standard's list of races and places of birth has no source. The export leaves
--   the file out unless exports.oneroster_demographics of campus.yaml is true.
-- Source: raw.students, raw.v1_users.
with students as (
    {{ people('dim_student', 'student_id') }}
)

select
    school_id,
    {{ sourced_id('student', ['student_id']) }} as "sourcedId",
    {{ bulk_columns() }},
    cast(null as date) as "birthDate",
    case gender when 'm' then 'male' when 'f' then 'female' else 'unspecified' end as "sex",
    {{ blank(['americanIndianOrAlaskaNative', 'asian', 'blackOrAfricanAmerican', 'nativeHawaiianOrOtherPacificIslander',
        'white', 'demographicRaceTwoOrMoreRaces', 'hispanicOrLatinoEthnicity', 'countryOfBirthCode',
        'stateOfBirthAbbreviation', 'cityOfBirth', 'publicSchoolResidenceStatus']) }}
from students
where gender is not null
