"""Which districts on Kubernetes need a home that all pods share, and where pods write otherwise."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.district.kubernetes.pods import DAEMON, HOME, RUN
from tests.kits.programs.rendered_district import LAKE, WITHOUT_HOME, documents, named, pods, render, rendered

SHARDS = "publish: {schools_per_shard: 16}\n"
NO_EXPORTS = "exports: {workbooks: []}\n"


def claims(printed: str) -> list[dict[str, Any]]:
    return [document for document in documents(printed) if document["kind"] == "PersistentVolumeClaim"]


def volume_of(pod: dict[str, Any], path: str) -> dict[str, Any]:
    """The volume that a pod mounts at a path."""
    [mount] = [
        mount
        for container in pod["containers"]
        for mount in container["volumeMounts"]
        if mount["mountPath"] == path
    ]
    [volume] = [volume for volume in pod["volumes"] if volume["name"] == mount["name"]]
    return {kind: content for kind, content in volume.items() if kind != "name"}


def test_a_lake_in_a_store_needs_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = render(tmp_path, monkeypatch, WITHOUT_HOME, CAMPUS_LAKE=LAKE)
    assert done.exit_code == 0 and "no inputs/ and no thresholds/" in done.stderr
    assert claims(done.stdout) == []
    for role in (DAEMON, RUN):
        # The cache of the lake, 20 GB, and what a pod writes besides.
        assert volume_of(pods(done.stdout, tmp_path)[role], HOME) == {"emptyDir": {"sizeLimit": "70Gi"}}


@pytest.mark.parametrize("lake", ["", LAKE])
def test_pods_have_the_lake_that_their_home_was_chosen_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: str
) -> None:
    """With a Secret that lacks the lake, or allows writing, the lake or the journal would end with a pod."""
    printed = rendered(tmp_path, monkeypatch, WITHOUT_HOME, CAMPUS_LAKE=lake)
    for pod in pods(printed, tmp_path).values():
        [container] = pod["containers"]
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        assert variables.get("CAMPUS_LAKE", "") == lake
        assert variables["CAMPUS_ALLOW_WRITES"] == "false"


@pytest.mark.parametrize(
    ("options", "environment", "reason"),
    [
        (WITHOUT_HOME, {}, "CAMPUS_LAKE is not set"),
        (NO_EXPORTS, {"CAMPUS_LAKE": LAKE}, "publish.schools_per_shard is null"),
        (SHARDS, {"CAMPUS_LAKE": LAKE}, "exports writes files"),
        (SHARDS + "exports: {workbooks: [], site: [head]}\n", {"CAMPUS_LAKE": LAKE}, "exports writes files"),
        (WITHOUT_HOME, {"CAMPUS_LAKE": LAKE, "CAMPUS_ALLOW_WRITES": "true"}, "CAMPUS_ALLOW_WRITES is true"),
    ],
)
def test_a_setting_that_needs_a_home_gets_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: str,
    environment: dict[str, str],
    reason: str,
) -> None:
    [claim] = claims(rendered(tmp_path, monkeypatch, options, **environment))
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    refused = render(tmp_path, monkeypatch, options, "--home", "none", **environment)
    assert refused.exit_code == 2 and f"--home none: {reason}" in refused.output
    assert not refused.stdout


@pytest.mark.parametrize(
    ("options", "environment", "setting"),
    [
        ("", {"CAMPUS_LAKE": "/mnt/lake"}, "CAMPUS_LAKE"),
        ("publish: {schools_per_shard: 16, to: /mnt/files}\n", {}, "publish.to"),
        ("publish: {audiences: {heads: {to: /mnt/heads}}}\n", {}, "publish.audiences.heads.to"),
        ("writes: {inbox: {folder: /mnt/inbox}}\n", {}, "writes.inbox.folder"),
    ],
)
def test_folders_that_no_pod_has_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: str,
    environment: dict[str, str],
    setting: str,
) -> None:
    done = render(tmp_path, monkeypatch, options, **environment)
    assert done.exit_code == 2 and f"{setting} is /mnt/" in done.output


@pytest.mark.parametrize(
    ("arguments", "storage_class"), [([], None), (["--storage-class", "nfs-client"], "nfs-client")]
)
def test_the_claim_names_a_class_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], storage_class: str | None
) -> None:
    """Without a name the cluster's default counts; an empty name would mean no class at all."""
    printed = rendered(tmp_path, monkeypatch, "", "--room", "250Gi", *arguments)
    spec = named(printed, "PersistentVolumeClaim", "campus-home")["spec"]
    assert spec.get("storageClassName") == storage_class
    assert spec["resources"] == {"requests": {"storage": "250Gi"}}


@pytest.mark.parametrize(
    ("options", "lake", "folders"),
    [
        ("", "", {"scratch", "build/spill"}),
        (SHARDS, "", {"scratch", "build"}),
        (SHARDS, LAKE, {"scratch", "build", "cache"}),
    ],
)
def test_scratch_of_a_shared_home_is_the_pods_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, lake: str, folders: set[str]
) -> None:
    """The published file must be moved within its volume, so its build is there too."""
    printed = rendered(tmp_path, monkeypatch, options, "--scratch", "30", CAMPUS_LAKE=lake)
    size = "50Gi" if lake else "30Gi"
    for role in (DAEMON, RUN):
        pod = pods(printed, tmp_path)[role]
        assert "persistentVolumeClaim" in volume_of(pod, HOME)
        below = [
            mount["mountPath"].removeprefix(f"{HOME}/")
            for mount in pod["containers"][0]["volumeMounts"]
            if mount["mountPath"].startswith(f"{HOME}/")
        ]
        assert set(below) == folders
        for folder in below:
            assert volume_of(pod, f"{HOME}/{folder}") == {"emptyDir": {"sizeLimit": size}}
