"""Reads with openstacksdk and the openstack command what Fairlead has made for Services.

FAIRLEAD_EXPECTED names for each load balancer its address, and the ports of its listeners. Each step prints a line. The last lines are
the numbers of steps that passed and failed.
"""

import json
import os
import subprocess
import sys

import openstack
from steps import run_all, step

access = {
    "OS_AUTH_TYPE": "v3applicationcredential",
    "OS_AUTH_URL": os.environ["FAIRLEAD_AUTH_URL"],
    "OS_APPLICATION_CREDENTIAL_ID": os.environ["FAIRLEAD_CREDENTIAL"],
    "OS_APPLICATION_CREDENTIAL_SECRET": os.environ["FAIRLEAD_SECRET"],
    "OS_REGION_NAME": "RegionOne",
    # The flavor is embedded in servers since this version.
    "OS_COMPUTE_API_VERSION": "2.47",
    "OS_COMPUTE_DEFAULT_MICROVERSION": "2.47",
}
os.environ.update(access)
expected = json.loads(os.environ["FAIRLEAD_EXPECTED"])
cloud = openstack.connect()


def equal(actual, wanted):
    assert actual == wanted, f"expected {wanted!r}, got {actual!r}"


def command(*words):
    program = os.path.join(os.path.dirname(sys.executable), "openstack")
    done = subprocess.run([program, *words, "-f", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def balancers():
    return {one.name: one for one in cloud.load_balancer.load_balancers()}


@step
def the_sdk_reads_load_balancers_with_their_tags():
    found = balancers()
    equal(sorted(found), sorted(expected))
    for name, one in found.items():
        equal((one.provisioning_status, name in one.tags), ("ACTIVE", True))


@step
def the_sdk_reads_the_parts_of_each_load_balancer():
    addresses = {port.device_id: port for port in cloud.network.ports()}
    servers = {server.name: server.id for server in cloud.compute.servers()}
    for name, one in balancers().items():
        listeners = list(cloud.load_balancer.listeners(load_balancer_id=one.id))
        ports = sorted([each.protocol, each.protocol_port] for each in listeners)
        equal(ports, sorted(expected[name]["listeners"]))
        pools = [cloud.load_balancer.get_pool(each.default_pool_id) for each in listeners]
        for pool in pools:
            members = list(cloud.load_balancer.members(pool))
            equal(sorted(member.name for member in members), sorted(expected[name]["members"]))
            for member in members:
                port = addresses[servers[member.name]]
                equal(member.address, port.fixed_ips[0]["ip_address"])


@step
def the_sdk_reads_the_floating_ip_at_the_virtual_ip():
    at = {ip.port_id: ip for ip in cloud.network.ips()}
    for name, one in balancers().items():
        floating = at[one.vip_port_id]
        equal(floating.floating_ip_address, expected[name]["address"])
        assert "Floating IP for Kubernetes external service" in floating.description


@step
def the_command_lists_the_load_balancers_and_floating_ips():
    equal(sorted(one["name"] for one in command("loadbalancer", "list")), sorted(expected))
    listed = {one["Floating IP Address"] for one in command("floating", "ip", "list")}
    equal({one["address"] for one in expected.values()} - listed, set())


run_all("openstacksdk")
