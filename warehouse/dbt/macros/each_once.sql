{#-
    The members of a list of objects, each once and in their order. A platform may list a person once for each role.
    id: the macro that gives the id of an object.
-#}
{% macro each_once(people, id=own_id) -%}
    list_filter(
        {{ people }},
        lambda person, place: coalesce(
            list_position(list_transform({{ people }}, lambda other: {{ id('other') }}), {{ id('person') }}) = place,
            true
        )
    )
{%- endmacro %}

{% macro own_id(person) -%}
    {{ person }}.id
{%- endmacro %}

{#- The user id of a person inside a v1 object. Platforms send rid, or the user as reflection, or only id. -#}
{% macro user_id(person) -%}
    coalesce({{ person }}.rid, {{ person }}.reflection.id, {{ person }}.id)
{%- endmacro %}
