"""What `campus district kubernetes` prints is what Kubernetes and Dagster's launcher take."""

import json
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
from tests.kits.programs import rendered_district
from tests.kits.programs.processes import environment_for
from tests.kits.programs.rendered_district import (
    LAKE,
    NAMESPACE,
    NETWORKS,
    SECRET,
    WITHOUT_HOME,
    data,
    documents,
    job_of,
    named,
    pods,
    render,
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


@pytest.mark.parametrize("home", ["shared", "none"])
def test_each_container_requests_the_disk_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    """Without a request, the scheduler puts pods on a node without room, where they are evicted."""
    arguments = ["--home", home, "--scratch", "7"]
    printed = rendered(tmp_path, monkeypatch, WITHOUT_HOME, *arguments, CAMPUS_LAKE=LAKE)
    build = job_of(printed, tmp_path, FOR_BUILDS)["spec"]["template"]["spec"]
    requests = {
        role: [container["resources"]["requests"]["ephemeral-storage"] for container in pod["containers"]]
        for role, pod in {**pods(printed, tmp_path), "build": build}.items()
    }
    assert requests == {DAEMON: ["2Gi"], WEBSERVER: ["2Gi"], RUN: ["2Gi"], "build": ["7Gi"]}


#: Tags by which whoever may launch runs would change a pod, and the field that a refusal names.
FORGED_TAGS: dict[str, tuple[str, dict[str, Any], str]] = {
    "secret": (
        "config",
        {"container_config": {"env_from": [{"secret_ref": {"name": "campus-daemon"}}]}},
        r"container_config\.env_from",
    ),
    "command": ("config", {"container_config": {"command": ["sh"]}}, r"container_config\.command"),
    "account": ("config", {"pod_spec_config": {"service_account_name": DAEMON}}, "service_account_name"),
    "disk of the node": (
        "config",
        {"pod_spec_config": {"volumes": [{"name": "node", "host_path": {"path": "/"}}]}},
        "volumes",
    ),
    "egress of another role": (
        "config",
        {"pod_template_spec_metadata": {"labels": {"app": DAEMON}}},
        "pod_template_spec_metadata",
    ),
    "retries": ("config", {"job_spec_config": {"backoff_limit": 9}}, "backoff_limit"),
    "namespace": ("config", {"job_metadata": {"namespace": "kube-system"}}, "job_metadata"),
    "memory": ("resource_requirements", {"limits": {"memory": "1Ti"}}, r"container_config\.resources"),
}


@pytest.mark.parametrize("name", FORGED_TAGS)
def test_no_tag_of_a_run_changes_its_pod(printed: str, tmp_path: Path, name: str) -> None:
    """Whoever can launch runs could mount the Secret of another role."""
    tag, value, field = FORGED_TAGS[name]
    with pytest.raises(Exception, match=f"violated the allowed list: .*{field}"):
        job_of(printed, tmp_path, {f"dagster-k8s/{tag}": json.dumps(value)})


def test_other_tags_leave_the_pod_alone(printed: str, tmp_path: Path) -> None:
    tags = {"dagster-k8s/config": '{"merge_behavior": "SHALLOW"}', "dagster/image": "evil.example/image"}
    assert job_of(printed, tmp_path, tags) == job_of(printed, tmp_path)


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


def ways_out(policy: dict[str, Any]) -> dict[str, set[int]]:
    """The ports of each network or namespace that a policy lets out to."""
    return {
        "; ".join(map(whereabouts, rule["to"])): {port["port"] for port in rule["ports"]}
        for rule in policy["egress"]
    }


def whereabouts(peer: dict[str, Any]) -> str:
    if "ipBlock" in peer:
        return str(peer["ipBlock"]["cidr"])
    pods = peer.get("podSelector", {}).get("matchLabels", {})
    return " ".join([*peer["namespaceSelector"]["matchLabels"].values(), *pods.values()])


DNS_PODS = "kube-system kube-dns"


def test_pods_talk_to_whom_they_need(printed: str) -> None:
    policies = policies_in(printed)
    everything = policies.pop("campus-deny-all")
    assert everything == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    names, postgres, platform = {DNS_PODS: {53}}, {NAMESPACE: {5432}}, {NETWORKS["school.example"]: {8443}}
    kubernetes = {NETWORKS["kubernetes"]: {443, 6443}}
    assert {name: ways_out(policy) for name, policy in policies.items()} == {
        DAEMON: names | kubernetes | postgres | platform,
        WEBSERVER: names | kubernetes | postgres,
        RUN: names | postgres | platform,
    }
    assert not any("ingress" in policy for policy in policies.values())


@pytest.mark.parametrize(
    ("postgres", "to"),
    [
        ("10.1.2.3:6432", {"10.1.2.3/32": {6432}}),
        ("[2001:db8::5]", {"2001:db8::5/128": {5432}}),
        ("pg.data.svc.cluster.local", {"data": {5432}}),
        ("pg.example", {"192.0.2.0/25; 192.0.2.128/25": {5432}}),
    ],
)
def test_a_server_is_where_address_or_option_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: str, to: dict[str, set[int]]
) -> None:
    egress = [
        "--egress=pg.example=192.0.2.0/25",
        "--egress=pg.example=192.0.2.128/25",
        "--egress=dns=169.254.20.10",
    ]
    url = f"postgresql+psycopg2://campus:{SECRET}@{postgres}/campus"
    policies = policies_in(rendered(tmp_path, monkeypatch, "{}", *egress, DAGSTER_POSTGRES_URL=url))
    kubernetes = {NETWORKS["kubernetes"]: {443, 6443}}
    assert ways_out(policies[WEBSERVER]) == {f"{DNS_PODS}; 169.254.20.10/32": {53}} | kubernetes | to


def test_servers_without_a_network_are_all_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendered_district, "NETWORKS", {"school.example": "203.0.113.7/32"})
    # Tests that ran before may have named a store.
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    url = f"postgresql+psycopg2://campus:{SECRET}@pg.example/campus"
    refused = render(tmp_path, monkeypatch, WITHOUT_HOME, CAMPUS_LAKE=LAKE, DAGSTER_POSTGRES_URL=url)
    assert refused.exit_code == 2
    for host in ("kubernetes", "pg.example", "s3.amazonaws.com"):
        assert f"--egress {host}=NETWORK is missing" in refused.output
    message = (
        "--egress pg.example=NETWORK is missing, such as pg.example=203.0.113.7/32: a network policy names "
        "no hosts"
    )
    assert message in " ".join(refused.output.split())
    assert "school.example=NETWORK" not in refused.output


@pytest.mark.parametrize(
    "egress", ["school.example", "school.example=school", "school.example=203.0.113.7/8"]
)
def test_an_option_without_a_network_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, egress: str
) -> None:
    refused = render(tmp_path, monkeypatch, "{}", f"--egress={egress}")
    assert refused.exit_code == 2 and egress in refused.output


@pytest.mark.parametrize("deliver", ["null", "{send: file}"])
def test_runs_reach_the_mail_server_for_deliveries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deliver: str
) -> None:
    mail = "{host: smtp.example.org, port: 465, security: tls, sender: a@b.example, to: [it@b.example]}"
    options = f"exports: {{site: [teacher], deliver: {deliver}}}\nnotify: {{mail: {mail}}}\n"
    policies = policies_in(rendered(tmp_path, monkeypatch, options))
    mails = (NETWORKS["smtp.example.org"], {465})
    assert mails in ways_out(policies[DAEMON]).items()
    assert (mails in ways_out(policies[RUN]).items()) == (deliver != "null")


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
