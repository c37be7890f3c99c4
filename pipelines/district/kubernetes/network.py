"""The network policies of a district on Kubernetes: nobody gets in, and each role gets out to its servers.

A policy names no hosts. So `--egress` says the addresses of servers outside the cluster."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.engine import make_url

from pipelines.district.kubernetes.pods import DAEMON, RUN, WEBSERVER, Manifest
from pipelines.settings.settings import Settings, SettingsError
from warehouse.stores import is_remote

#: The API of Kubernetes and the name look-ups, as `--egress` names them.
KUBERNETES, DNS = "kubernetes", "dns"
#: The host of the store without AWS_ENDPOINT_URL.
STORE = "s3.amazonaws.com"
#: By host (an address, or a name of `--egress`), the networks where it is.
Networks = Mapping[str, Sequence[str]]
#: A host and its port.
Server = tuple[str, int]


def network_policies(settings: Settings, namespace: str, networks: Networks) -> Iterable[Manifest]:
    """Policies that deny all ingress, and allow each role's egress to the servers that it needs.

    Raises SettingsError for servers whose network is not known."""
    kubernetes = {(KUBERNETES, 443), (KUBERNETES, 6443)}
    postgres, platform = set(_postgres(settings)), set(_platform(settings))
    mail = settings.options.notify.mail
    mails = {(mail.host, mail.port)} if mail else set()
    notices = mails | set(_server(settings.notify_url.get_secret_value() if settings.notify_url else ""))
    # A run sends the mails to teachers.
    deliveries = mails if settings.options.exports.deliver else set()
    servers = {
        DAEMON: kubernetes | platform | notices | postgres,
        WEBSERVER: kubernetes | postgres,
        RUN: platform | deliveries | postgres,
    }
    hosts = sorted({host for needed in servers.values() for host, _ in needed})
    peers = {host: _peers(host, namespace, networks) for host in hosts}
    if problems := [_problem(host) for host in hosts if not peers[host]]:
        raise SettingsError(problems)
    yield _policy("campus-deny-all", namespace, {}, ["Ingress", "Egress"])
    for role, needed in servers.items():
        egress = [_rule(_names(networks), [53], ["UDP", "TCP"])]
        ports = defaultdict[str, list[int]](list)
        for host, port in sorted(needed):
            ports[host].append(port)
        egress += [_rule(peers[host], ports[host]) for host in ports]
        yield _policy(role, namespace, {"app": role}, ["Egress"], egress=egress)


def named(version: str, kind: str, name: str, namespace: str) -> Manifest:
    """A manifest without its content."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}


def _postgres(settings: Settings) -> Iterator[Server]:
    if settings.postgres_url:
        url = make_url(settings.postgres_url.get_secret_value())
        yield url.host or "", url.port or 5432
    else:
        yield "", 5432


def _platform(settings: Settings) -> Iterator[Server]:
    """The platform, and the store of the lake and of the published shards."""
    yield from _server(settings.base_url or "")
    if is_remote(settings.lake_root) or is_remote(settings.options.publish.to or ""):
        yield from _server(os.environ.get("AWS_ENDPOINT_URL") or f"https://{STORE}")


def _server(address: str) -> Iterator[Server]:
    """The server of an address; none, if it names none."""
    parts = urlsplit(address)
    if parts.hostname:
        yield parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)


def _peers(host: str, namespace: str, networks: Networks) -> list[Manifest]:
    """Where a host is: its networks, its own address, or the namespace of a service of the cluster. Empty:
    not known."""
    if host in networks:
        return [{"ipBlock": {"cidr": network}} for network in networks[host]]
    try:
        return [{"ipBlock": {"cidr": f"{host}/{ip_address(host).max_prefixlen}"}}]
    except ValueError:
        pass
    match host.split("."):
        case [name] if name and host != KUBERNETES:
            return [_in_namespace(namespace)]
        case [_, namespace_of_service, "svc", *_]:
            return [_in_namespace(namespace_of_service)]
    return []


def _names(networks: Networks) -> list[Manifest]:
    """Who answers name look-ups."""
    pods = {"podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}
    blocks = [{"ipBlock": {"cidr": network}} for network in networks.get(DNS, ())]
    return [_in_namespace("kube-system") | pods, *blocks]


def _in_namespace(namespace: str) -> Manifest:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}


def _problem(host: str) -> str:
    if not host:
        return "DAGSTER_POSTGRES_URL names no server: the network policies need the host of Postgres"
    if host == KUBERNETES:
        return (
            "--egress kubernetes=NETWORK is missing: the addresses of the API of Kubernetes, as "
            "`kubectl --namespace default get endpointslices` shows them"
        )
    return (
        f"--egress {host}=NETWORK is missing, such as {host}=203.0.113.7/32: a network policy names no hosts"
    )


def _policy(name: str, namespace: str, pods: dict[str, str], types: list[str], **rules: Any) -> Manifest:
    return {
        **named("networking.k8s.io/v1", "NetworkPolicy", name, namespace),
        "spec": {"podSelector": {"matchLabels": pods} if pods else {}, "policyTypes": types, **rules},
    }


def _rule(peers: list[Manifest], ports: list[int], protocols: Iterable[str] = ("TCP",)) -> Manifest:
    return {
        "to": peers,
        "ports": [{"port": port, "protocol": protocol} for port in ports for protocol in protocols],
    }
