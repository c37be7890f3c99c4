{#-
    Null where one of these resources was never loaded of the semester, the value otherwise: what was never read is no
    zero. `semesters`: the alias of dim_semester.
-#}
{% macro if_loaded(resources, value, semesters='semesters') -%}
    case when not coalesce(list_has_any({{ semesters }}.never_loaded, {{ resources }}), false) then {{ value }} end
{%- endmacro %}

{#- The resources that models are made of, by how they are sliced: by school, by semester of v3, by semester of v1. -#}
{% macro model_resources() -%}
    {{ return({
        'school': [
            'admin_classes', 'attendance_settings', 'reflections', 'structures', 'students', 'teachers', 'terms',
            'transcript_courses', 'transcript_semesters', 'transcripts', 'user_fields', 'v1_admin_classes', 'v1_users'
        ],
        'semester': ['assessment_items', 'assessments', 'class_members', 'classes', 'grades', 'scores'],
        'v1_semester': [
            'attendance_records', 'attendance_sessions', 'timetable_days', 'timetable_lessons', 'v1_class_students',
            'v1_classes'
        ]
    }) }}
{%- endmacro %}

{#- Null where all of these resources were never loaded, each of which tells the value. -#}
{% macro if_any_loaded(resources, value, semesters='semesters') -%}
    case when not coalesce(list_has_all({{ semesters }}.never_loaded, {{ resources }}), false) then {{ value }} end
{%- endmacro %}

{#- Null where the members of classes were never loaded, of either interface, or the students that they are. -#}
{% macro if_members_loaded(value, semesters='semesters') -%}
    {{ if_loaded(['students'], if_any_loaded(['class_members', 'v1_class_students'], value, semesters), semesters) }}
{%- endmacro %}

{#-
    Whether a student had left (core.semester_leaver); null where that is not known: students were never loaded, or,
    of one who has left by now, the memberships that tell when.
-#}
{% macro has_left(semesters='semesters') -%}
    case
        when leavers.student_id is not null then true
        when list_contains({{ semesters }}.never_loaded, 'students') then null
        when students.is_deleted and list_contains({{ semesters }}.never_loaded, 'class_members') then null
        else false
    end
{%- endmacro %}
