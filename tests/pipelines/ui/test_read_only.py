"""Read-only means that no mutation there is gets through."""

from dagster_graphql.schema import create_schema
from graphql import parse, validate

from pipelines.ui.webserver import NoMutations


def test_no_mutation_of_dagster_is_valid() -> None:
    schema = create_schema().graphql_schema
    assert schema.mutation_type
    names = list(schema.mutation_type.fields)
    assert len(names) > 30
    for name in names:
        for document in (f"mutation {{{name}}}", f"query {{version}} mutation b {{{name}}}"):
            assert validate(schema, parse(document), rules=[NoMutations]), document
    for document in ("{version}", "query {version}", "subscription {locationStateChangeEvents {__typename}}"):
        assert not validate(schema, parse(document), rules=[NoMutations]), document
