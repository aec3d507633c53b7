"""Drives the simulated Hetzner Cloud with the official Python client, and checks the results in the client's own types.

Each step prints a line. The last lines are the numbers of steps that passed and failed.
"""

import datetime
import os

from hcloud import APIException, Client
from hcloud.actions import ActionFailedException
from hcloud.certificates import Certificate
from hcloud.images import Image
from hcloud.load_balancer_types import LoadBalancerType
from hcloud.load_balancers import (
    LoadBalancerAlgorithm,
    LoadBalancerHealthCheck,
    LoadBalancerHealthCheckHttp,
    LoadBalancerService,
    LoadBalancerServiceHttp,
    LoadBalancerTarget,
    LoadBalancerTargetIP,
    LoadBalancerTargetLabelSelector,
)
from hcloud.locations import Location
from hcloud.networks import NetworkRoute, NetworkSubnet
from hcloud.server_types import ServerType
from hcloud.servers import ServerCreatePublicNetwork
from steps import run_all, step


def connect(token, endpoint=os.environ["FAIRLEAD_ENDPOINT"]):
    return Client(token=token, api_endpoint=endpoint, poll_interval=0.05)


client = connect(os.environ["FAIRLEAD_TOKEN"])


class World:
    """What earlier steps created."""


world = World()


def refuses(code, request):
    try:
        request()
    except APIException as error:
        assert error.code == code, f"expected {code}, got {error.code}: {error.message}"
        return error
    raise AssertionError(f"expected the error {code}")


def equal(actual, expected):
    assert actual == expected, f"expected {expected!r}, got {actual!r}"


@step
def lists_locations_and_types():
    zones = {location.name: location.network_zone for location in client.locations.get_all()}
    equal(zones["fsn1"], "eu-central")
    equal(client.locations.get_by_name("hel1").city, "Helsinki")
    limits = client.load_balancer_types.get_by_name("lb11")
    equal((limits.max_services, limits.max_targets, limits.max_assigned_certificates), (5, 25, 10))
    equal(client.server_types.get_by_name("cax11").architecture, "arm")
    equal(client.server_types.get_by_name("no-such-type"), None)


@step
def creates_a_network_with_a_subnet():
    subnet = NetworkSubnet(type="cloud", ip_range="10.0.0.0/24", network_zone="eu-central")
    world.net = client.networks.create(name="py-net", ip_range="10.0.0.0/8", subnets=[subnet], labels={"a": "b"})
    equal(world.net.subnets[0].gateway, "10.0.0.1")
    action = world.net.add_subnet(NetworkSubnet(type="cloud", ip_range="10.0.1.0/24", network_zone="eu-central"))
    equal((action.command, action.status), ("add_subnet", "running"))
    action.wait_until_finished()
    equal([each.ip_range for each in client.networks.get_by_name("py-net").subnets], ["10.0.0.0/24", "10.0.1.0/24"])
    renamed = world.net.update(labels={"c": "d"})
    equal(renamed.labels, {"c": "d"})


@step
def creates_servers():
    created = client.servers.create(
        name="py-1",
        server_type=ServerType(name="cx23"),
        image=Image(name="debian-12"),
        location=Location(name="fsn1"),
        networks=[world.net],
        labels={"pool": "web"},
    )
    equal((created.action.command, created.server.status), ("create_server", "initializing"))
    created.action.wait_until_finished()
    world.one = client.servers.get_by_id(created.server.id)
    equal((world.one.status, world.one.location.name, world.one.server_type.name), ("running", "fsn1", "cx23"))
    equal(world.one.private_net[0].network.id, world.net.id)
    assert world.one.public_net.ipv4.ip, "no public IPv4 address"
    private = client.servers.create(
        name="py-2",
        server_type=ServerType(name="cx23"),
        image=Image(name="debian-12"),
        networks=[world.net],
        labels={"pool": "web"},
        public_net=ServerCreatePublicNetwork(enable_ipv4=False, enable_ipv6=False),
    )
    private.action.wait_until_finished()
    world.two = client.servers.get_by_name("py-2")
    equal((world.two.public_net.ipv4, world.two.public_net.ipv6), (None, None))
    equal([each.name for each in client.servers.get_all(label_selector="pool=web")], ["py-1", "py-2"])
    equal(client.servers.get_all(label_selector="pool=other"), [])


@step
def reads_all_pages():
    created = [
        client.servers.create(
            name=f"py-many-{number}", server_type=ServerType(name="cx23"), image=Image(name="debian-12"),
            start_after_create=False,
        )
        for number in range(60)
    ]
    created[-1].action.wait_until_finished()
    every = client.servers.get_all(label_selector="!pool")
    equal(len({server.id for server in every}), 60)
    page = client.servers.get_list(label_selector="!pool", page=2, per_page=25)
    equal((len(page.servers), page.meta.pagination.total_entries, page.meta.pagination.last_page), (25, 60, 3))
    for server in every:
        server.delete()


@step
def switches_servers_off_and_on():
    world.one.power_off().wait_until_finished()
    equal(client.servers.get_by_id(world.one.id).status, "off")
    action = world.one.power_on()
    refuses("locked", world.one.power_off)
    action.wait_until_finished()
    equal(client.servers.get_by_id(world.one.id).status, "running")
    world.one.rebuild(Image(name="debian-12")).action.wait_until_finished()


@step
def attaches_servers_to_networks():
    created = client.servers.create(name="py-3", server_type=ServerType(name="cx23"), image=Image(name="debian-12"))
    created.action.wait_until_finished()
    server = created.server
    refuses("ip_not_available", lambda: server.attach_to_network(world.net, ip=world.one.private_net[0].ip))
    server.attach_to_network(world.net, ip="10.0.1.9").wait_until_finished()
    server.change_alias_ips(world.net, ["10.0.1.10"]).wait_until_finished()
    net = client.servers.get_by_id(server.id).private_net[0]
    equal((net.ip, net.alias_ips), ("10.0.1.9", ["10.0.1.10"]))
    refuses("server_already_attached", lambda: server.attach_to_network(world.net))
    equal(server.id in [each.id for each in client.networks.get_by_id(world.net.id).servers], True)
    server.detach_from_network(world.net).wait_until_finished()
    server.delete().wait_until_finished()
    refuses("not_found", lambda: client.servers.get_by_id(server.id))


@step
def adds_and_deletes_routes():
    gateway = world.one.private_net[0].ip
    route = NetworkRoute(destination="10.244.0.0/24", gateway=gateway)
    world.net.add_route(route).wait_until_finished()
    equal([(each.destination, each.gateway) for each in client.networks.get_by_id(world.net.id).routes],
          [("10.244.0.0/24", gateway)])
    error = refuses("invalid_input", lambda: world.net.add_route(route))
    equal(error.details["fields"][0]["name"], "destination")
    refuses("not_found", lambda: world.net.delete_route(NetworkRoute(destination="10.244.0.0/24", gateway="10.0.0.99")))
    world.net.delete_route(route).wait_until_finished()
    equal(client.networks.get_by_id(world.net.id).routes, [])


@step
def creates_certificates():
    uploaded = client.certificates.create(
        name="py-uploaded", certificate=os.environ["FAIRLEAD_CERTIFICATE"], private_key=os.environ["FAIRLEAD_KEY"],
    )
    equal((uploaded.type, uploaded.status), ("uploaded", None))
    assert uploaded.not_valid_after > datetime.datetime.now(datetime.timezone.utc), "already expired"
    managed = client.certificates.create_managed(name="py-managed", domain_names=["example.com"])
    equal(managed.certificate.status.issuance, "pending")
    managed.action.wait_until_finished()
    world.certificate = client.certificates.get_by_name("py-managed")
    equal((world.certificate.status.issuance, world.certificate.status.error), ("completed", None))
    refuses("uniqueness_error", lambda: client.certificates.create_managed(name="py-managed", domain_names=["a.b"]))
    refuses("invalid_input", lambda: client.certificates.create(name="x", certificate="no PEM", private_key="x"))
    equal(uploaded.delete(), True)
    equal([(each.name, each.type) for each in client.certificates.get_all()], [("py-managed", Certificate.TYPE_MANAGED)])


def tcp(port):
    check = LoadBalancerHealthCheck(protocol="tcp", port=30080, interval=15, timeout=10, retries=3)
    return LoadBalancerService(
        protocol="tcp", listen_port=port, destination_port=30080, proxyprotocol=False, health_check=check,
    )


@step
def creates_a_load_balancer():
    created = client.load_balancers.create(
        name="py-lb",
        load_balancer_type=LoadBalancerType(name="lb11"),
        location=Location(name="fsn1"),
        network=world.net,
        services=[tcp(80)],
        targets=[LoadBalancerTarget(type="server", server=world.one, use_private_ip=True)],
        algorithm=LoadBalancerAlgorithm(type="least_connections"),
        labels={"service": "one"},
    )
    equal(created.action.command, "create_load_balancer")
    created.action.wait_until_finished()
    world.lb = client.load_balancers.get_by_id(created.load_balancer.id)
    equal((world.lb.public_net.enabled, world.lb.algorithm.type), (True, "least_connections"))
    assert world.lb.public_net.ipv4.ip and world.lb.public_net.ipv6.ip, "no public addresses"
    equal(world.lb.private_net_for(world.net).network.id, world.net.id)
    equal([each.server.id for each in world.lb.targets], [world.one.id])
    equal(world.lb.targets[0].health_status[0].status, "healthy")
    refuses("uniqueness_error", lambda: client.load_balancers.create(
        name="py-lb", load_balancer_type=LoadBalancerType(name="lb11"), network_zone="eu-central"))
    equal(world.lb.update(labels={"service": "two"}).labels, {"service": "two"})
    equal([each.id for each in client.load_balancers.get_all(label_selector="service==two")], [world.lb.id])


@step
def changes_services():
    world.lb.add_service(tcp(443)).wait_until_finished()
    refuses("source_port_already_used", lambda: world.lb.add_service(tcp(443)))
    http = LoadBalancerServiceHttp(
        cookie_name="STICKY", cookie_lifetime=60, certificates=[world.certificate], redirect_http=False,
        sticky_sessions=True,
    )
    check = LoadBalancerHealthCheck(
        protocol="http", port=30443, interval=5, timeout=4, retries=2,
        http=LoadBalancerHealthCheckHttp(domain="example.com", path="/healthz", status_codes=["2??"], tls=False),
    )
    world.lb.update_service(LoadBalancerService(
        protocol="https", listen_port=443, destination_port=30443, proxyprotocol=True, http=http, health_check=check,
    )).wait_until_finished()
    service = client.load_balancers.get_by_id(world.lb.id).services[1]
    equal((service.protocol, service.destination_port, service.proxyprotocol), ("https", 30443, True))
    equal((service.http.cookie_name, service.http.sticky_sessions), ("STICKY", True))
    equal([each.id for each in service.http.certificates], [world.certificate.id])
    equal((service.health_check.interval, service.health_check.http.status_codes), (5, ["2??"]))
    refuses("resource_in_use", lambda: client.certificates.delete(world.certificate))
    for port in [1, 2, 3]:
        world.lb.add_service(tcp(port)).wait_until_finished()
    refuses("resource_limit_exceeded", lambda: world.lb.add_service(tcp(4)))
    refuses("not_found", lambda: world.lb.delete_service(LoadBalancerService(listen_port=99)))
    world.lb.delete_service(LoadBalancerService(listen_port=443)).wait_until_finished()
    client.certificates.delete(world.certificate)


@step
def changes_targets():
    public = LoadBalancerTarget(type="server", server=world.two, use_private_ip=False)
    refuses("missing_ipv4", lambda: world.lb.add_target(public))
    private = LoadBalancerTarget(type="server", server=world.two, use_private_ip=True)
    world.lb.add_target(private).wait_until_finished()
    refuses("target_already_defined", lambda: world.lb.add_target(private))
    ip = LoadBalancerTarget(type="ip", ip=LoadBalancerTargetIP(ip=os.environ["FAIRLEAD_ROBOT_IP"]))
    world.lb.add_target(ip).wait_until_finished()
    refuses("ip_not_owned", lambda: world.lb.add_target(
        LoadBalancerTarget(type="ip", ip=LoadBalancerTargetIP(ip="203.0.113.1"))))
    selector = LoadBalancerTargetLabelSelector(selector="pool=web")
    world.lb.add_target(
        LoadBalancerTarget(type="label_selector", label_selector=selector, use_private_ip=True)
    ).wait_until_finished()
    targets = client.load_balancers.get_by_id(world.lb.id).targets
    equal([each.type for each in targets], ["server", "server", "ip", "label_selector"])
    equal({each.server.id for each in targets[3].targets}, {world.one.id, world.two.id})
    for target in [private, ip, LoadBalancerTarget(type="label_selector", label_selector=selector)]:
        world.lb.remove_target(target).wait_until_finished()
    refuses("not_found", lambda: world.lb.remove_target(private))


@step
def changes_the_load_balancer():
    world.lb.change_algorithm(LoadBalancerAlgorithm(type="round_robin")).wait_until_finished()
    world.lb.change_type(LoadBalancerType(name="lb21")).wait_until_finished()
    world.lb.change_dns_ptr(world.lb.public_net.ipv4.ip, "lb.example.com").wait_until_finished()
    shown = client.load_balancers.get_by_name("py-lb")
    equal((shown.algorithm.type, shown.load_balancer_type.name), ("round_robin", "lb21"))
    equal(shown.public_net.ipv4.dns_ptr, "lb.example.com")
    world.lb.disable_public_interface().wait_until_finished()
    equal(client.load_balancers.get_by_id(world.lb.id).public_net.enabled, False)
    world.lb.enable_public_interface().wait_until_finished()
    refuses("load_balancer_already_attached", lambda: world.lb.attach_to_network(world.net))
    world.lb.remove_target(LoadBalancerTarget(type="server", server=world.one)).wait_until_finished()
    world.lb.detach_from_network(world.net).wait_until_finished()
    refuses("load_balancer_not_attached_to_network", world.lb.disable_public_interface)
    world.lb.attach_to_network(world.net, ip="10.0.1.20").wait_until_finished()
    equal(client.load_balancers.get_by_id(world.lb.id).private_net_for(world.net).ip, "10.0.1.20")
    commands = [each.command for each in world.lb.get_actions(sort=["id:desc"])]
    equal(commands[:2], ["attach_to_network", "detach_from_network"])


@step
def locks_a_load_balancer_while_an_action_runs():
    action = world.lb.change_algorithm(LoadBalancerAlgorithm(type="least_connections"))
    refuses("locked", lambda: world.lb.add_service(tcp(8080)))
    action.wait_until_finished()
    equal(client.actions.get_by_id(action.id).progress, 100)


@step
def deletes_unless_protected():
    world.lb.change_protection(delete=True).wait_until_finished()
    refuses("protected", world.lb.delete)
    world.lb.change_protection(delete=False).wait_until_finished()
    world.lb.delete().action.wait_until_finished()
    refuses("not_found", lambda: client.load_balancers.get_by_id(world.lb.id))
    world.net.change_protection(delete=True).wait_until_finished()
    refuses("protected", world.net.delete)
    world.net.change_protection(delete=False).wait_until_finished()
    equal(world.net.delete(), True)


@step
def reports_a_failed_action():
    action = world.one.reboot()
    try:
        action.wait_until_finished()
    except ActionFailedException as error:
        equal(error.action.error["code"], "action_failed")
        return
    raise AssertionError("expected the action to fail")


@step
def rejects_other_tokens():
    refuses("unauthorized", lambda: connect("no-such-token").servers.get_all())
    viewer = connect(os.environ["FAIRLEAD_READONLY_TOKEN"])
    equal(len(viewer.servers.get_all()), 2)
    refuses("forbidden", lambda: viewer.networks.create(name="py-no", ip_range="10.0.0.0/16"))


@step
def reports_the_rate_limit():
    limited = connect("any", os.environ["FAIRLEAD_LIMITED_ENDPOINT"])
    limited._client._retry_max_retries = 0
    refuses("rate_limit_exceeded", lambda: [limited.locations.get_list() for _ in range(5)])


run_all("hcloud for Python")
