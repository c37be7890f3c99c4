"""What waits for the next try of a run that has died with its worker."""

import dagster as dg
from night_ticks import ended_discovery

from pipelines.automation import RETRY_TAG, WILL_RETRY_TAG, about_to_be_retried, last_discovery
from pipelines.definitions import DISCOVERY


def test_a_discovery_that_is_tried_again_is_not_the_last_one() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        before = ended_discovery(instance)
        died = ended_discovery(instance, failed=True)
        found = last_discovery(instance, DISCOVERY)
        assert found is not None and found.run_id == died.run_id, (
            "one that is not tried again holds nobody up"
        )
        instance.add_run_tags(died.run_id, {WILL_RETRY_TAG: "true"})
        found = last_discovery(instance, DISCOVERY)
        assert found is not None and found.run_id == before.run_id
        assert [run.run_id for run in about_to_be_retried(instance)] == [died.run_id]
        again = ended_discovery(instance)
        instance.add_run_tags(died.run_id, {RETRY_TAG: again.run_id})
        found = last_discovery(instance, DISCOVERY)
        assert found is not None and found.run_id == again.run_id
        assert about_to_be_retried(instance) == []
