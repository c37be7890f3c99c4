"""What `campus district kubernetes` prints is what Kubernetes and Dagster's launcher take."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from dagster._config import process_config

from pipelines.definitions import build_definitions
from pipelines.district.config import multi_machine_config
from pipelines.district.kubernetes.launcher import WatchedKubernetesLauncher
from pipelines.district.kubernetes.pods import DAEMON, RUN, WEBSERVER
from pipelines.district.queues import FOR_BUILDS
from pipelines.district.unstarted_runs import NAME
from pipelines.runs.instance import CONFIG
from pipelines.settings.options import Options
from pipelines.settings.settings import load_settings
from tests.kits.programs.processes import environment_for
from tests.kits.programs.rendered_district import (
    LAKE,
    NAMESPACE,
    SECRET,
    WITHOUT_HOME,
    data,
    documents,
    job_of,
    named,
    pods,
    rendered,
)

#: The versions of Kubernetes that docs/how-to/district.md names: the first, and the last one released.
VERSIONS = ("1.29", "1.37")


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return rendered(tmp_path, monkeypatch, "district: {loads_at_a_time: 9}\n")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("home", ["shared", "none"])
def test_manifests_and_jobs_match_kubernetes_schemas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, version: str
) -> None:
    arguments = ["--home", home, "--storage-class", "nfs-client"]
    printed = rendered(tmp_path, monkeypatch, WITHOUT_HOME, *arguments, CAMPUS_LAKE=LAKE)
    manifests = documents(printed)
    assert len(manifests) > 10
    for manifest in [*manifests, job_of(printed, tmp_path)]:
        assert kubernetes_validate.validate(manifest, version, strict=True) == version
    assert {manifest["metadata"]["namespace"] for manifest in manifests} == {NAMESPACE}


def test_a_misspelt_field_does_not_match_the_schema(printed: str) -> None:
    deployment = named(printed, "Deployment", DAEMON)
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    container["livenesProbe"] = container.pop("livenessProbe")
    with pytest.raises(kubernetes_validate.ValidationError, match="livenesProbe"):
        kubernetes_validate.validate(deployment, VERSIONS[-1], strict=True)


def test_the_launcher_takes_its_configuration(printed: str) -> None:
    dagster_yaml = data(printed, "dagster.yaml")
    assert dagster_yaml["run_launcher"]["class"] == WatchedKubernetesLauncher.__name__
    config = dagster_yaml["run_launcher"]["config"]
    checked = process_config(WatchedKubernetesLauncher.config_type(), config)
    assert checked.success, checked.errors
    limits = dagster_yaml["concurrency"]["runs"]["tag_concurrency_limits"]
    assert [limit["limit"] for limit in limits] == [9, 1]
    names = {manifest["metadata"]["name"] for manifest in documents(printed)}
    mounted = [volume["configMap"]["name"] for volume in config["volumes"] if "configMap" in volume]
    assert {config["instance_config_map"], config["service_account_name"], *mounted} <= names


def test_a_dead_run_is_retried_as_with_workers(printed: str) -> None:
    dagster_yaml = data(printed, "dagster.yaml")
    workers = multi_machine_config(load_settings(), CONFIG)
    assert {section: dagster_yaml[section] for section in workers} == workers
    assert dagster_yaml["run_retries"]["max_retries"] == 3
    assert dagster_yaml["run_monitoring"]["max_resume_run_attempts"] == 0
    job = dagster_yaml["run_launcher"]["config"]["run_k8s_config"]
    # Else Kubernetes would start the same run again, beside Dagster's retry.
    assert job["job_spec_config"]["backoffLimit"] == 0
    # Else a run that was given up could not kill itself: it would be the first process of its namespace.
    assert job["pod_spec_config"]["shareProcessNamespace"]
    sensors = {sensor.name for sensor in build_definitions(load_settings()).sensors or ()}
    assert NAME not in sensors
    in_a_pod = load_settings().model_copy(update={"kubernetes": True})
    assert NAME in {sensor.name for sensor in build_definitions(in_a_pod).sensors or ()}


def memory(container: dict[str, Any]) -> tuple[str, str]:
    resources = container["resources"]
    return resources["requests"]["memory"], resources["limits"]["memory"]


@pytest.mark.parametrize(
    ("limit", "build"), [("1500MB", ("2071Mi", "2455Mi")), ("4GB", ("4455Mi", "4839Mi"))]
)
def test_builds_have_the_memory_of_their_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, build: tuple[str, str]
) -> None:
    printed = rendered(tmp_path, monkeypatch, f"publish: {{memory_limit: {limit}}}\n")
    memories = {
        name: memory(job_of(printed, tmp_path, tags)["spec"]["template"]["spec"]["containers"][0])
        for name, tags in {"load": {}, "build": FOR_BUILDS}.items()
    }
    assert memories == {"load": ("1024Mi", "2048Mi"), "build": build}


def test_no_tag_of_a_run_changes_its_pod(printed: str, tmp_path: Path) -> None:
    """Whoever can launch runs could mount the Secret of another role."""
    config = '{"container_config": {"env_from": [{"secret_ref": {"name": "campus-daemon"}}]}}'
    with pytest.raises(Exception, match=r"container_config\.env_from"):
        job_of(printed, tmp_path, {"dagster-k8s/config": config})


def test_the_ui_is_guarded_and_inside_its_pod(printed: str) -> None:
    [container] = named(printed, "Deployment", WEBSERVER)["spec"]["template"]["spec"]["containers"]
    command = container["command"]
    assert command[:3] == ["python", "-m", "pipelines.ui.webserver"]
    assert command[command.index("--host") + 1] == "127.0.0.1"


def test_no_secret_is_printed_and_the_options_are(printed: str) -> None:
    assert SECRET not in printed and "warehouse" not in printed
    options = Options.model_validate(data(printed, "campus.yaml"))
    assert options.district.loads_at_a_time == 9


@pytest.mark.parametrize(("role", "has_token"), [(DAEMON, True), (WEBSERVER, True), (RUN, False)])
def test_each_role_has_an_account_and_a_secret(
    printed: str, tmp_path: Path, role: str, has_token: bool
) -> None:
    pod = pods(printed, tmp_path)[role]
    assert pod["serviceAccountName"] == role and named(printed, "ServiceAccount", role)
    assert pod["automountServiceAccountToken"] == has_token
    [container] = pod["containers"]
    secrets = [source["secretRef"]["name"] for source in container["envFrom"] if "secretRef" in source]
    assert secrets == [role]


def test_only_the_daemon_creates_jobs(printed: str) -> None:
    rights = {
        document["metadata"]["name"]: {
            (resource, verb)
            for rule in document["rules"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        for document in documents(printed)
        if document["kind"] == "Role"
    }
    assert rights.keys() == {DAEMON, WEBSERVER}
    creating = {
        role
        for role, pairs in rights.items()
        if any(verb in ("create", "patch", "update", "*") for _, verb in pairs)
    }
    assert creating == {DAEMON}
    assert not {"secrets", "*", "pods/exec"} & {
        resource for pairs in rights.values() for resource, _ in pairs
    }


def test_the_webserver_sees_no_home(printed: str, tmp_path: Path) -> None:
    volumes = {volume["name"]: volume for volume in pods(printed, tmp_path)[WEBSERVER]["volumes"]}
    assert volumes["home"].keys() == {"name", "emptyDir"}


def policies_in(printed: str) -> dict[str, Any]:
    return {
        document["metadata"]["name"]: document["spec"]
        for document in documents(printed)
        if document["kind"] == "NetworkPolicy"
    }


def ports_of(policy: dict[str, Any]) -> set[int]:
    return {port["port"] for rule in policy["egress"] for port in rule["ports"]}


def test_pods_talk_to_whom_they_need(printed: str) -> None:
    policies = policies_in(printed)
    everything = policies.pop("campus-deny-all")
    assert everything == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert {name: ports_of(policy) for name, policy in policies.items()} == {
        DAEMON: {53, 443, 6443, 5432, 8443},
        WEBSERVER: {53, 443, 6443, 5432},
        RUN: {53, 443, 5432, 8443},
    }
    assert not any("ingress" in policy for policy in policies.values())


@pytest.mark.parametrize("deliver", ["null", "{send: file}"])
def test_runs_reach_the_mail_server_for_deliveries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deliver: str
) -> None:
    mail = "{host: smtp.example.org, port: 465, security: tls, sender: a@b.example, to: [it@b.example]}"
    options = f"exports: {{site: [teacher], deliver: {deliver}}}\nnotify: {{mail: {mail}}}\n"
    policies = policies_in(rendered(tmp_path, monkeypatch, options))
    assert 465 in ports_of(policies[DAEMON])
    assert (465 in ports_of(policies[RUN])) == (deliver != "null")


def test_the_webserver_needs_no_secret_of_the_platform(tmp_path: Path) -> None:
    """It loads the definitions with an empty home and the address of Postgres alone."""
    code = "from pipelines.definitions import defs; print(len(list(defs().resolve_all_job_defs())))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment_for(
            tmp_path / "home",
            CAMPUS_KUBERNETES="true",
            DAGSTER_POSTGRES_URL=f"postgresql+psycopg2://campus:{SECRET}@postgres/campus",
        ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
