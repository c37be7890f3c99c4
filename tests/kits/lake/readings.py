"""Readings of a slice, as a load hands them to the commit."""

from datetime import datetime
from typing import Any

from campus.account import Account
from warehouse.load.slice_reading import Cause, SliceReading
from warehouse.load.stage import StagedFile

OF_ACCOUNT, OF_CAUSE = Account.__dataclass_fields__, Cause.__dataclass_fields__


def reading_of(staged: StagedFile, began: datetime, sync: str = "night", **facts: Any) -> SliceReading:
    """A whole reading of the staged rows. `facts`: of it, its account and its cause."""
    account = {name: value for name, value in facts.items() if name in OF_ACCOUNT}
    cause = {name: value for name, value in facts.items() if name in OF_CAUSE}
    of_reading = {name: value for name, value in facts.items() if name not in (*account, *cause)}
    received = staged.rows + len(facts.get("bad", ()))
    return SliceReading(
        staged=staged,
        account=Account(**{"received": received, "server_total": None} | account),
        cause=Cause(**{"sync_id": sync, "run_id": f"run of {sync}", "started_at": began} | cause),
        **of_reading,
    )
