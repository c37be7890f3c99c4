{#- Parts of the views of OneRoster. A bulk export has the academic year of a school's current semester. -#}

{#- The id of an object in all files: <school>-<kind>-<id of the platform>. Null if the id is null. `of`: the table. -#}
{% macro sourced_id(kind, ids=[], of=none) -%}
    cast({{ of ~ '.' if of }}school_id as varchar) || '-{{ kind }}'
    {%- for id in ids %} || '-' || cast({{ of ~ '.' if of }}{{ id }} as varchar){% endfor %}
{%- endmacro %}

{#- Columns that a bulk export must leave blank. -#}
{% macro bulk_columns() -%}
    cast(null as varchar) as "status",
    cast(null as varchar) as "dateLastModified"
{%- endmacro %}

{#- Columns that the platform cannot give, or that this export leaves out. -#}
{% macro blank(names) -%}
    {%- for name in names %}
    cast(null as varchar) as "{{ name }}"{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{#- The semesters of the academic year of each school's current semester. -#}
{% macro semesters_of_year() -%}
    select
        *,
        max(academic_year) filter (where is_current) over (partition by school_id) as exported_year
    from {{ ref('dim_semester') }}
    where not is_deleted
    qualify academic_year = exported_year
{%- endmacro %}

{#- Live course classes of these semesters. The platform has no courses: classes of a subject with the same course name
    share one, whose id is the smallest id of these classes, removed ones and those of other years included. So the
    removal of a class leaves the id as it is; a rename of only some of the classes may change it. -#}
{% macro classes_of_year() -%}
    select
        classes.*,
        semesters.first_day,
        semesters.last_day
    from (
        select
            *,
            coalesce(nullif(trim(course_name), ''), nullif(trim(class_name), ''), class_code) as course_title,
            min(course_class_id) over (partition by school_id, subject_id, course_title) as course_id
        from {{ ref('dim_course_class') }}
    ) as classes
    inner join ({{ semesters_of_year() }}) as semesters
        on semesters.school_id = classes.school_id
        and semesters.semester_id = classes.semester_id
    where not classes.is_deleted
{%- endmacro %}

{#- The code of the subject of a class: the standard requires as many codes as names, and the platform has none. A name
    of commas, spaces and control characters is none. -#}
{% macro subject_code(of) -%}
    case
        when regexp_matches({{ of }}.subject_name, '[^,\s\p{C}\p{Z}]')
            then {{ sourced_id('subject', ['subject_id'], of) }}
    end
{%- endmacro %}

{#- Who is in one of these classes now, or was at the end of a semester that is over: members of `bridge_class_student`
    with the class's id and days. An ended membership is left out: in bulk the receiver ends what it no longer finds,
    while one that ignores endDate would leave the person in the class. -#}
{% macro students_of_classes() -%}
    select
        members.*,
        classes.first_day,
        classes.last_day
    from {{ ref('bridge_class_student') }} as members
    inner join ({{ classes_of_year() }}) as classes
        on classes.school_id = members.school_id
        and classes.course_class_id = members.course_class_id
    semi join ({{ people('dim_student', 'student_id') }}) as students
        on students.school_id = members.school_id
        and students.student_id = members.student_id
    where
        members.left_on is null
        or members.left_on > classes.last_day
{%- endmacro %}

{#- Live people of the school. A forgotten person has a negative id and no name. -#}
{% macro people(dimension, id) -%}
    select * from {{ ref(dimension) }} where not is_deleted and {{ id }} > 0
{%- endmacro %}

{#- Live administrative classes that are not archived. -#}
{% macro homerooms() -%}
    select * from {{ ref('dim_admin_class') }} where not is_deleted and not is_archived
{%- endmacro %}

{#- Published leaf items of the assessments of these classes; a comment (scoring_type review) is no mark. Items whose top
    dimensions have the same name share a category, whose id is the smallest id of these dimensions. -#}
{% macro items_of_year() -%}
    select
        items.*,
        classes.course_class_id,
        classes.semester_id,
        classes.first_day,
        classes.last_day
    from (
        select
            *,
            min(level_1_id) over (partition by school_id, level_1_name) as category_id
        from {{ ref('dim_assessment_item') }}
    ) as items
    inner join {{ ref('dim_assessment') }} as assessments
        on assessments.school_id = items.school_id
        and assessments.assessment_id = items.assessment_id
    inner join ({{ classes_of_year() }}) as classes
        on classes.school_id = assessments.school_id
        and classes.course_class_id = assessments.course_class_id
    where
        not items.is_deleted
        and items.is_leaf
        and items.published_at is not null
        and items.scoring_type is distinct from 'review'
        and not assessments.is_deleted
{%- endmacro %}

{#- Published grades of the students of these classes that count: a delayed examination has no grade yet. -#}
{% macro grades_of_year() -%}
    select
        grades.* replace (classes.semester_id as semester_id),
        classes.course_id,
        classes.first_day,
        classes.last_day
    from {{ ref('fct_grade') }} as grades
    inner join ({{ classes_of_year() }}) as classes
        on classes.school_id = grades.school_id
        and classes.course_class_id = grades.course_class_id
    semi join ({{ students_of_classes() }}) as members
        on members.school_id = grades.school_id
        and members.course_class_id = grades.course_class_id
        and members.student_id = grades.student_id
    where
        grades.published_at is not null
        and grades.counts_in_statistics
        and (grades.real_score is not null or grades.score_text is not null)
{%- endmacro %}

{#- Names as given and family name. The platform has one name, and the standard requires both:
      Chinese       the family name is the first character, or the first two if they are a compound surname
      with a dot    (买买提·艾力) or a space: the family name is the last part
      others        all of it is the given name, and the family name is -  -#}
{% macro family_name(name) -%}
    case
        when regexp_full_match({{ name }}, '(?:{{ compound_surnames() | join('|') }})\p{Han}{1,2}')
            then left({{ name }}, 2)
        when regexp_full_match({{ name }}, '\p{Han}{2,4}') then left({{ name }}, 1)
        when regexp_full_match({{ name }}, '.*[^\s·•]\s*[\s·•]\s*[^\s·•]+')
            then regexp_extract({{ name }}, '[^\s·•]+$')
        else '-'
    end
{%- endmacro %}

{% macro given_name(name, family_name) -%}
    case
        when {{ family_name }} = '-' then {{ name }}
        when regexp_full_match({{ name }}, '\p{Han}+') then substr({{ name }}, length({{ family_name }}) + 1)
        else regexp_extract({{ name }}, '^(.*[^\s·•])[\s·•]+[^\s·•]+$', 1)
    end
{%- endmacro %}

{% macro compound_surnames() -%}
    {{ return([
        '欧阳', '司马', '上官', '诸葛', '夏侯', '东方', '皇甫', '尉迟', '公孙', '慕容', '司徒', '令狐', '宇文', '长孙', '钟离',
        '独孤', '南宫', '百里', '端木', '轩辕', '申屠', '太史', '闾丘', '公冶', '宗政', '濮阳', '淳于', '单于', '呼延', '拓跋',
        '万俟', '闻人', '澹台', '赫连', '太叔', '公羊', '仲孙', '鲜于', '司空', '司寇', '巫马', '公西', '颛孙', '壤驷', '公良',
        '漆雕', '乐正', '宰父', '谷梁', '夹谷', '段干', '东郭', '南门', '左丘', '西门', '第五'
    ]) }}
{%- endmacro %}

{#- A number as text without trailing zeros. -#}
{% macro plain_number(number) -%}
    regexp_replace(cast({{ number }} as varchar), '\.0+$|(\.\d*[1-9])0+$', '\1')
{%- endmacro %}
